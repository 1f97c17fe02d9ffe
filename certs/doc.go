// Package certs gives the webhooks a serving certificate that the API server trusts.
//
// The built-in provider makes an authority and a leaf once and keeps both in a Secret
// of the release's namespace, where all replicas find the same ones. The leaf is served
// from memory. The authority goes into the caBundle of the webhook configurations by
// server-side apply, with a field owner of its own: the chart never writes that field,
// and whoever empties it gets it back.
package certs
