// Package drain tests how TeamSpace is taken off a cluster, and put back: `manager drain`
// as the account of the chart's hook and as administrator, with the controller running,
// gone, or with half of the release deleted, cut short anywhere and run again.
package drain
