// Package preview holds what `kubectl teamspace preview delete` says against what then really
// happens, on random graphs and with kubectl's own three cascades.
package preview
