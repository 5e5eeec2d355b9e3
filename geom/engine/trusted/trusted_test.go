package trusted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// built is a folder a/b with a file, and a link to it from beside.
func built(t *testing.T) (top, file, link string) {
	t.Helper()
	top = t.TempDir()
	file, link = filepath.Join(top, "a/b/file"), filepath.Join(top, "links/link")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(file), 0o755), os.Mkdir(filepath.Dir(link), 0o755), os.WriteFile(file, nil, 0o644),
		os.Chmod(top+"/a", 0o755), os.Chmod(top+"/a/b", 0o755), os.Chmod(top+"/links", 0o755), os.Chmod(file, 0o644),
		os.Symlink("../a/b", link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return top, file, link + "/file"
}

// refused says whether a path is unsafe, and the error says where.
func refused(err error, where string) bool {
	return errors.Is(err, ErrUnsafe) && strings.Contains(err.Error(), where)
}

// Every folder on the way counts, and so does the file: bits that let others write, but for a sticky folder above.
func TestPath(t *testing.T) {
	for _, c := range []struct {
		spoilt string
		mode   os.FileMode
		safe   bool
	}{
		{"a", 0o700, true},
		{"a", 0o755, true},
		{"a", 0o757, false},
		{"a", 0o777 | os.ModeSticky, true},
		{"a/b", 0o777, false},
		{"a/b", 0o777 | os.ModeSticky, true},
		{"a/b/file", 0o600, true},
		{"a/b/file", 0o646, false},
		{"a/b/file", 0o646 | os.ModeSticky, false},
		{"links", 0o777, false},
		{"links", 0o777 | os.ModeSticky, true},
	} {
		top, file, link := built(t)
		if err := os.Chmod(filepath.Join(top, c.spoilt), c.mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, link} {
			safe := c.safe || c.spoilt == "links" && path == file
			err := Path(path)
			if safe != (err == nil) || !safe && !refused(err, filepath.Join(top, c.spoilt)+" ") {
				t.Errorf("%s of mode %v, path %s: error %v", c.spoilt, c.mode, path, err)
			}
		}
	}
	top, _, _ := built(t)
	if err := os.Chmod(top+"/a/b", 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := Path(top + "/a/b"); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a sticky folder that is itself asked for, into which anybody may put files: error %v", err)
	}
	if err := Path("a/b"); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a relative path: error %v", err)
	}
	if err := Path(top + "/nowhere/file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what does not exist: error %v", err)
	}
	if err := errors.Join(os.Symlink("loop", top+"/loop"), Path(top+"/loop")); err == nil {
		t.Error("a link to itself is no error")
	}
}

// A link leads where it leads, from where it really lies: its .. are those of its folder.
func TestPathFollowsLinks(t *testing.T) {
	top, _, _ := built(t)
	for _, l := range []struct{ name, target string }{
		{"relative", "a/../links/link/../b/./file"}, {"absolute", top + "/links/link/file"}, {"twice", "relative"},
	} {
		if err := errors.Join(os.Symlink(l.target, top+"/"+l.name), Path(top+"/"+l.name)); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	}
	if err := os.Chmod(top+"/a/b/file", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"relative", "absolute", "twice"} {
		if err := Path(top + "/" + name); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What another user owns is unsafe, whatever its bits. Only root can give a file away; for others the test sees their own files
// as another user does.
func TestPathOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		defer func() { euid = os.Geteuid }()
		euid = func() int { return nobody }
		_, file, _ := built(t)
		if err := Path(file); !refused(err, " belongs to ") {
			t.Errorf("error %v", err)
		}
		return
	}
	for _, given := range []string{"a", "a/b", "a/b/file", "links/link"} {
		top, file, link := built(t)
		if err := os.Lchown(filepath.Join(top, given), nobody, -1); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, link} {
			safe := given == "links/link" && path == file
			if err := Path(path); safe != (err == nil) || !safe && !refused(err, given+" belongs to ") {
				t.Errorf("%s is given away, path %s: error %v", given, path, err)
			}
		}
	}
}

// Files of the group count as those of everybody unless the system's lists say that nobody else belongs to it.
func TestPrivateGroups(t *testing.T) {
	me := os.Geteuid()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	passwd := write("passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\nme:x:%d:500::/:\nbob:x:%d:501::/:\n", me, me+1)+"broken\nodd:x:x:502::/:\n")
	for group, want := range map[string]bool{
		"mine:x:500:":            true,
		"mine:x:500:me,root":     true,
		"mine:x:500:bob":         false,
		"mine:x:500:me,bob":      false,
		"mine:x:500:stranger":    false, // whom the list of users does not have
		"bobs:x:501:":            false, // his by the list of users
		"odd:x:502:":             false,
		"empty:x:503:":           true,
		"other:x:504:\nbroken\n": true,
		"":                       false, // of a group that is not listed nothing is known
	} {
		gid := uint32(500)
		_, _ = fmt.Sscanf(strings.Join(strings.Split(group+":x:500", ":")[2:], ":"), "%d", &gid)
		if got := alone(gid, write("group", group+"\n"), passwd); got != want {
			t.Errorf("%q: %t", group, got)
		}
	}
	if alone(500, dir+"/nowhere", dir+"/nowhere") {
		t.Error("without the lists a group is private")
	}

	_, file, _ := built(t)
	if err := os.Chmod(file, 0o664); err != nil {
		t.Fatal(err)
	}
	gid := os.Getegid()
	defer func(g, u string) { groups, users = g, u }(groups, users)
	users = write("passwd", fmt.Sprintf("me:x:%d:%d::/:\n", me, gid))
	for members, safe := range map[string]bool{"": true, "me": true, "bob": false} {
		groups = write("group", fmt.Sprintf("mine:x:%d:%s\n", gid, members))
		if err := Path(file); safe != (err == nil) || !safe && !errors.Is(err, ErrUnsafe) {
			t.Errorf("members %q: error %v", members, err)
		}
		info, err := os.Lstat(file)
		if err != nil || Alone(info) {
			t.Errorf("bits alone say that the group cannot write, error %v", err)
		}
	}
	groups = write("group", fmt.Sprintf("mine:x:%d:\n", gid))
	// Owner, user 1, group, mask and others of an access list: tag, bits, number.
	list := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 6, 1}, {4, 6, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 4, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	if err := unix.Setxattr(file, "system.posix_acl_access", list, 0); err != nil {
		t.Logf("this file system has no access lists: %v", err)
	} else if err := Path(file); !errors.Is(err, ErrUnsafe) {
		t.Errorf("an access list that names another user: error %v", err)
	}
}

// What root alone may write is trusted by every user.
func TestRoots(t *testing.T) {
	defer func() { euid = os.Geteuid }()
	euid = func() int { return nobody }
	if err := Path("/etc/passwd"); err != nil {
		t.Error(err)
	}
}
