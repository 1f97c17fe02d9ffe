package outline

import (
	"io"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	root := &Node{Text: "Site alpha"}
	page := root.Add("ConfigMap page")
	page.Add("Secret key").Add("Secret copy")
	page.Add("Secret other")
	root.Add("ClusterRole reader")
	var out strings.Builder
	if err := root.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `Site alpha
├─ ConfigMap page
│  ├─ Secret key
│  │  └─ Secret copy
│  └─ Secret other
└─ ClusterRole reader
`
	if out.String() != want {
		t.Errorf("drawn\n%s\nwant\n%s", out.String(), want)
	}
}

// TestWrite_Deep: a chain of any length is drawn.
func TestWrite_Deep(t *testing.T) {
	root := &Node{Text: "0"}
	for at, i := root, 0; i < 2000; i++ {
		at = at.Add("next")
	}
	if err := root.Write(io.Discard); err != nil {
		t.Fatal(err)
	}
}
