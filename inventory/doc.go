// Package inventory reads a live cluster into the facts that package ownership
// judges: which types are served, what is there under the name that an owner
// reference gives, and all objects with their references as one graph. It reads
// metadata only, and it never says that something is absent because a cache does
// not hold it.
//
// # Single owners
//
// A Reader looks live at the owner that one reference names, with types from a
// Catalog. The guard asks it before it denies anything, and every report asks it
// before it tells of a finding.
//
// # Whole clusters
//
// A Surveyor lists everything that can be listed, in large pages and several types
// at once, and keeps of each object what graph.Object holds and nothing else: some
// 300 bytes.
//
//	catalog := inventory.NewCatalog(discoveryClient)
//	surveyor, err := inventory.NewSurveyor(catalog, restConfig)
//	survey, err := surveyor.Survey(ctx, inventory.Options{Namespace: ns})
//	prediction := rules.Predict(survey.Graph)                    // the present
//	prediction = rules.Predict(survey.Graph, rules.Deleted(…))   // what would happen
//
// Dependents and blockers may be in any namespace and scope, so all of them are
// read, also where only one namespace is asked about; the caller picks the objects
// that it reports on. Survey.Incomplete is to be reported, whatever was found:
// whoever is asked about one namespace leaves out the entries that are Elsewhere,
// unless what it has to say depends on them. Objects change while a survey runs;
// what is told of one has to be read live before.
package inventory
