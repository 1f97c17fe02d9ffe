// Package archive keeps the record of every TeamSpace that was deleted.
//
// A record is one JSON document, built from the TeamSpace alone, so that it can be
// written whatever has become of the namespace. A Store keeps records by the uid of
// their TeamSpace: a name that is used twice leaves two records, and writing the
// same TeamSpace again leaves one. There are two stores, ConfigMaps in a namespace
// of their own and a directory.
package archive
