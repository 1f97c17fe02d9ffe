package chart

import (
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HasValue reports whether the chart itself has a value under the keys, so that it can
// be set to another.
func HasValue(chartPath string, keys ...string) (bool, error) {
	loaded, err := loader.Load(chartPath)
	if err != nil {
		return false, fmt.Errorf("loading the chart %s: %w", chartPath, err)
	}
	_, found, err := unstructured.NestedFieldNoCopy(loaded.Values, keys...)
	return found && err == nil, nil
}

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
