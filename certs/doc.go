// Package certs gives the webhooks a serving certificate that the API server trusts.
//
// A provider says what is to be served: the built-in one makes an authority and a leaf,
// keeps both in a Secret of the release's namespace, and renews them; with cert-manager
// somebody else fills that Secret, and writes the caBundles too. The Keeper is the same
// for both: it holds what it serves in memory, and changes to another certificate only
// when every webhook configuration trusts that one. So no order in which Secret and
// caBundles change can make an API server refuse a connection.
//
// The authority goes into the caBundle of the webhook configurations by server-side
// apply, with a field owner of its own: the chart never writes that field, and whoever
// empties it gets it back.
package certs
