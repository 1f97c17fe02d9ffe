package chart

import (
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
)

// mergeValues reads the files in their order and then the settings, a later one
// over an earlier one.
func mergeValues(files, settings []string) (map[string]any, error) {
	merged := map[string]any{}
	for _, name := range files {
		values, err := readValues(name)
		if err != nil {
			return nil, fmt.Errorf("reading the values file %s: %w", name, err)
		}
		merged = loader.MergeMaps(merged, values)
	}
	for _, setting := range settings {
		if err := strvals.ParseInto(setting, merged); err != nil {
			return nil, fmt.Errorf("reading the setting %q: %w", setting, err)
		}
	}
	return merged, nil
}

// readValues reads one file.
func readValues(name string) (map[string]any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return loader.LoadValues(f)
}
