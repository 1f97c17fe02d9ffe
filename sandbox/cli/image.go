package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"labhub.io/teamspace/sandbox/image"
)

// nobody is a user that no system has, by number: a kubelet can see that it is not root.
const nobody = "65532:65532"

// newImage returns the command that makes an image of a binary.
func newImage() *cobra.Command {
	var binary, name, roots, output string
	cmd := &cobra.Command{
		Use:   "image --binary FILE --name NAME --output FILE",
		Short: "Make an image of a static binary, with no registry",
		Long: `Writes an archive, as "docker save" does, of an image with nothing but the binary
and the certificates of public authorities. The same files make the same archive.`,
		Example: `  sandbox image --binary bin/manager --name labhub.io/teamspace/manager:0.1.0 --output manager.tar`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if binary == "" || name == "" || output == "" {
				return usageError{errors.New("--binary, --name and --output are all needed")}
			}
			return makeImage(binary, name, roots, output)
		},
	}
	cmd.Flags().StringVar(&binary, "binary", "", "the static binary (required)")
	cmd.Flags().StringVar(&name, "name", "", "the name by which pods ask for the image, with a tag (required)")
	cmd.Flags().StringVar(&roots, "ca-roots", "/etc/ssl/certs/ca-certificates.crt", "the certificates of public authorities; none if there is no such file")
	cmd.Flags().StringVar(&output, "output", "", "the archive (required)")
	return cmd
}

// makeImage writes the archive of a binary and of authorities.
func makeImage(binary, name, roots, output string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("making the image %q: %w", name, err)
	}
	entry := "/" + filepath.Base(binary)
	made := image.Image{
		Name: name, User: nobody, Entrypoint: []string{entry},
		Files: []image.File{{Path: entry, Executable: true, Data: program}},
	}
	authorities, err := os.ReadFile(roots)
	switch {
	case err == nil:
		made.Files = append(made.Files, image.File{Path: "/etc/ssl/certs/ca-certificates.crt", Data: authorities})
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("making the image %q: %w", name, err)
	}
	return writeFile(output, made.Write)
}

// writeFile writes a file, and leaves none that is not whole.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
