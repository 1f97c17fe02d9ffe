// Package guard tests what stands at the door: the guard of owner references, the
// webhooks of TeamSpace and the two policies, before the real API server and beside the
// real garbage collector.
//
// Of the public reports, those of one request are in TestReports, by their numbers; C06,
// C18, C23, C49 and C60 in TestReport_*; C13, C36 to C41 and C48 in TestStrict; C52 in
// TestStaleUID; C61 in TestLab; C21 and C57 in TestPolicy_WebhookConfigurations; C59 in
// webhooks/ownerreferences; C44 in ownership/explain; C46 and C50, which are about our own
// controller, in test/lifecycle (TestStorm, TestDeletion_ForeignFinalizersStay). C53 is
// for the plugin to explain.
package guard
