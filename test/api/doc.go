// Package api tests the type alone: what the API server makes of a TeamSpace while no
// manager runs.
package api
