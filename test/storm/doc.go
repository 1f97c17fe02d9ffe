// Package storm makes very many TeamSpaces at once and kills the manager again and again
// while it serves them.
package storm
