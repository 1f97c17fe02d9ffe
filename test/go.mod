// The tests that need more than the shipped module: a control plane, a chart, a node. A module of
// its own, so that nobody who imports labhub.io/teamspace inherits what they need.
module labhub.io/teamspace/test

go 1.26.0

replace labhub.io/teamspace => ../
