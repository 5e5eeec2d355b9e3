// Package trusted says whether only this user and root can have written what lies in a file or folder. Nothing else is run as
// machine code, or compiled, unless the user names it.
package trusted

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrUnsafe says that somebody other than this user and root may write a file, or put another one in its place.
var ErrUnsafe = errors.New("what runs must be this user's or root's alone")

// Alone says whether this user or root owns a file or folder, and neither its group nor everybody may write to it. Of an access
// list the bits of the group tell whether it lets anybody write.
func Alone(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && ours(s.Uid) && info.Mode().Perm()&0o022 == 0
}

func ours(uid uint32) bool { return uid == 0 || int(uid) == euid() }

var euid = os.Geteuid

// Path returns an error, which is ErrUnsafe, if anybody but this user and root may write to the file or folder of an absolute
// path, to a folder that it lies in, or to a symbolic link on the way: each of them may exchange the file. Two things are allowed
// that look unsafe: folders on the way whose sticky bit keeps others from exchanging what they do not own, such as /tmp; and
// groups to which nobody but this user and root belongs, as systems make them that give each user a group.
func Path(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s is not an absolute path: %w", path, ErrUnsafe)
	}
	at, rest := "/", split(path)
	if err := member(at, len(rest) == 0); err != nil {
		return err
	}
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0]) // .. too, as at has no links
		rest = rest[1:]
		if err := member(next, len(rest) == 0); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil { // not a link
			at = next
			continue
		}
		if links++; links > 40 {
			return &os.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(split(target), rest...)
	}
	return nil
}

// split lists the names in a path, in order.
func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// member looks at one file, folder or link of a path.
func member(path string, last bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !ok:
		return fmt.Errorf("who owns %s is not known: %w", path, ErrUnsafe)
	case !ours(s.Uid):
		return fmt.Errorf("%s belongs to %s: %w", path, called(s.Uid), ErrUnsafe)
	case mode&os.ModeSymlink != 0 || Alone(info): // of a link only the owner counts
	case mode.IsDir() && mode&os.ModeSticky != 0 && !last:
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("everybody may write to %s (`chmod o-w` ends it): %w", path, ErrUnsafe)
	case !private(path, s.Gid):
		return fmt.Errorf("its group, or an access list, lets others write to %s (`chmod g-w` ends it): %w", path, ErrUnsafe)
	}
	return nil
}

func called(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return "the user " + u.Username
	}
	return "the user number " + id
}

// private says whether the group of a file is one of this user and root alone, and no access list names others.
func private(path string, gid uint32) bool {
	if _, err := unix.Getxattr(path, "system.posix_acl_access", nil); err == nil {
		return false
	}
	return alone(gid, groups, users)
}

// groups and users are the files that list them. Whom they do not list is not known to be alone in a group.
var groups, users = "/etc/group", "/etc/passwd"

func alone(gid uint32, groups, users string) bool {
	id := strconv.Itoa(int(gid))
	uids := map[string]string{} // by name
	for _, f := range table(users, 4) {
		uids[f[0]] = f[2]
		if f[3] == id && !known(f[2]) {
			return false
		}
	}
	listed := false
	for _, f := range table(groups, 4) {
		if f[2] != id {
			continue
		}
		listed = true
		for _, name := range strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' }) {
			if !known(uids[name]) {
				return false
			}
		}
	}
	return listed
}

// known says whether a number, as written, is that of this user or of root.
func known(uid string) bool {
	n, err := strconv.ParseUint(uid, 10, 32)
	return err == nil && ours(uint32(n))
}

// table reads the lines of at least n fields between colons; none of a file that cannot be read.
func table(path string, n int) (lines [][]string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Split(s.Text(), ":"); len(fields) >= n {
			lines = append(lines, fields)
		}
	}
	return lines
}
