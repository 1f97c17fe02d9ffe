// Package v1alpha1 is the first version of the TeamSpace API: the kind, its
// conditions with their reasons, and every name (label, annotation, finalizer,
// namespace prefix) that other parts of the project and its users share.
//
// +kubebuilder:object:generate=true
// +groupName=platform.labhub.io
package v1alpha1
