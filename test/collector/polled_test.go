package collector

// polledDying is what R02, R03 and R20 leave open: an object of a type that is not
// observed is judged as soon as another one names it as its owner, by polling; and since
// the collector never learns that it is being deleted, it goes on judging it then.
func polledDying(s *row) {
	const before = `
		Event a/q [acme.example/hold] -> Event q
		Widget a/r -> Event q
	`
	s.Plays(before, before)
	s.SetOwners("Event/a/q", s.object("Event a/q -> Widget r; Event q").Owners)
	s.Plays("delete background Event a/q", `
		Widget a/r -> Event q
		Event a/q dying [acme.example/hold] -> Widget r; Event q
	`)
	s.Plays("delete background Widget a/r", `
		Event a/q dying [acme.example/hold] -> Event q
	`)
}

// refusedEvent is what R12 does not say: the API server takes the collector's finalizers
// off an Event with any DELETE. If that leaves none, the precondition that the collector
// sends is compared with an empty object and fails; it tries again for ever.
func refusedEvent(s *row) {
	const refused = `
		Event a/v [orphan] -> Widget ghost
		ConfigMap a/w -> Event v
	`
	s.Plays(refused, refused)
	// Other finalizers keep the object, and with it the precondition.
	s.Plays(`
		Event a/x [orphan acme.example/hold] -> Widget ghost
		ConfigMap a/y -> Event x
	`, refused+`
		Event a/x dying [acme.example/hold] -> Widget ghost
		ConfigMap a/y -> Event x
	`)
}
