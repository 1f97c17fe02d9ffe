// Package outage takes the control plane away from the manager: its parts one after the
// other, all of it for a minute, and single requests and answers at random.
package outage
