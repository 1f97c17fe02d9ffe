package v1alpha1

// Condition types of a TeamSpace.
const (
	// ConditionReady is the root: everything that the spec of the observed
	// generation asks for is in force.
	ConditionReady = "Ready"

	// ConditionNamespaceReady says whether the namespace is there, Active and ours.
	ConditionNamespaceReady = "NamespaceReady"

	// ConditionQuotaInForce says whether the quota controller enforces the
	// declared quota. Applied and in force are two different things.
	ConditionQuotaInForce = "QuotaInForce"

	// ConditionArchived is there only while a TeamSpace is being deleted.
	ConditionArchived = "Archived"

	// ConditionReconciling is kstatus' sign of work under way. Absent otherwise.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is kstatus' sign that a person has to act. Absent otherwise.
	ConditionStalled = "Stalled"
)

// Reasons of the conditions above.
const (
	// ReasonServing: the namespace is there and its quota is in force (Ready).
	ReasonServing = "Serving"

	// ReasonProgressing: work is under way, or a request failed and is tried again.
	ReasonProgressing = "Progressing"

	// ReasonActive: the namespace is Active and belongs to this TeamSpace.
	ReasonActive = "Active"

	// ReasonNamespaceTerminating: the namespace is being deleted; it is made
	// again as soon as it is gone.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonNamespaceConflict: a namespace of that name is there already and
	// does not belong to this TeamSpace, so it is left alone.
	ReasonNamespaceConflict = "NamespaceConflict"

	// ReasonNamespaceNotReady: there is no namespace to keep the quota in.
	ReasonNamespaceNotReady = "NamespaceNotReady"

	// ReasonEnforced: the quota controller has taken the quota up.
	ReasonEnforced = "Enforced"

	// ReasonAwaitingQuotaController: the quota is applied, but the quota
	// controller does not enforce it yet.
	ReasonAwaitingQuotaController = "AwaitingQuotaController"

	// ReasonTerminating: the TeamSpace itself is being deleted, and what is not in
	// force is not put back.
	ReasonTerminating = "Terminating"

	// ReasonReleased: TeamSpace was taken off the cluster and nobody keeps this TeamSpace
	// any more (Ready). A later installation takes it up again.
	ReasonReleased = "Released"

	// ReasonArchiveWritten: the record is stored and was read back.
	ReasonArchiveWritten = "ArchiveWritten"

	// ReasonArchiveFailed: the record could not be stored; it is tried again.
	ReasonArchiveFailed = "ArchiveFailed"
)

// Reasons that are told by events only.
const (
	// ReasonNamespaceStuck: a team's namespace has been Terminating for long; the event
	// names what holds it.
	ReasonNamespaceStuck = "NamespaceStuck"
)
