// Package archive tests the stores of archive records, and the manager with each of
// them, on a real API server and a real disk.
package archive
