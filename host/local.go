package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/internal/owner"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client"
)

// CauseNotAllowed: the plugin is in ./burn_plugins, which the user has not allowed.
const CauseNotAllowed client.Cause = "not allowed"

const (
	originOptions = "options"
	originLocal   = "working folder"
)

// LocalFolder describes a folder ./burn_plugins that the user has not allowed yet.
type LocalFolder struct {
	Path    string
	Changed bool     // the folder was allowed with other content
	Plugins []string // the names of the plugins in the folder
	Foreign error    // why other users can change the folder; nil if they cannot

	tree string
}

// Local describes a folder of plugins for Options.Ask. It returns ErrNotFound if the folder does not exist.
func Local(dir string) (*LocalFolder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	allowed, changed, err := store.AllowedFolder(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", core.ErrNotFound, err)
		}
		return nil, fmt.Errorf("folder of plugins: %w", err)
	}
	files := allowed
	if files == nil {
		if files, err = store.HashFolder(dir); err != nil {
			return nil, fmt.Errorf("folder of plugins: %w", err)
		}
	}
	l := &LocalFolder{Path: dir, Changed: changed, tree: store.Tree(files)}
	for _, f := range files {
		name := PluginName(path.Base(f.Path))
		if name == "" || slices.Contains(l.Plugins, name) {
			continue
		}
		l.Plugins = append(l.Plugins, name)
		if err := owner.Check(filepath.Join(dir, filepath.FromSlash(f.Path))); errors.Is(err, owner.ErrForeign) && l.Foreign == nil {
			l.Foreign = err
		}
	}
	return l, nil
}

// Allow records, for this user, that the plugins in the folder may be used as long as its content stays as described.
func (l *LocalFolder) Allow(ctx context.Context) error { return store.AllowFolder(ctx, l.Path, l.tree) }

// judge decides about the plugins in ./burn_plugins: plugins of an allowed folder are admitted with the content that the user
// allowed, others are refused.
func judge(f Folder, ps []Plugin) {
	if len(ps) == 0 {
		return
	}
	files, changed, err := store.AllowedFolder(f.Path)
	what := "the working folder has plugins, and you have not allowed them"
	switch {
	case err != nil:
		what = err.Error()
	case changed:
		what = "the folder has other content than when you allowed it"
	}
	for i := range ps {
		p := &ps[i]
		if files == nil {
			p.found = &Failure{CauseNotAllowed, what, fmt.Sprintf("if you trust the content of %s, run `burn plugin allow %s`; or name it with --plugin-path or %s",
				f.Path, f.Path, EnvPath), fmt.Errorf("%w: plugins of the working folder", core.ErrProtocol)}
			continue
		}
		if p.files = within(files, f.Path, p.Path); p.files == nil {
			p.found = &Failure{CauseNotAllowed, what, "run the command again", core.ErrProtocol} // the plugin appeared while the folder was read
		}
	}
}

// within returns the files that belong to the plugin at path: the files in and below its folder, without other plugins.
func within(files []store.File, dir, path string) []store.File {
	prefix, err := filepath.Rel(dir, filepath.Dir(path))
	if err != nil {
		return nil
	}
	prefix = filepath.ToSlash(prefix) + "/"
	if prefix == "./" {
		prefix = ""
	}
	stem, _ := plainName(filepath.Base(path))
	var own []store.File
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Path, prefix)
		base := rest[strings.LastIndex(rest, "/")+1:]
		if !ok || strings.HasPrefix(base, filePrefix) && rest != filepath.Base(path) && rest != stem+manifestExt {
			continue
		}
		f.Path = rest
		own = append(own, f)
	}
	return own
}

// mine reports whether the user named the folder in Options.Dirs or BURN_PLUGIN_PATH.
func (f Folder) mine() bool { return f.Origin == originOptions || f.Origin == EnvPath }

// yield moves unverified plugins to the end, with a failure that states the reason, if an installed or locked plugin has the same name.
// Such plugins are in ./burn_plugins, or are files in a folder of installations that the user did not name. groups contains the plugins of
// each folder.
func yield(folders []Folder, groups [][]Plugin, o *Options) [][]Plugin {
	installed := map[string]string{}
	for i, g := range groups {
		for _, p := range g {
			if p.admission != nil && folders[i].Origin != originLocal && installed[p.Name] == "" {
				installed[p.Name] = p.Path
			}
		}
	}
	var last []Plugin
	for i := range groups {
		f := folders[i]
		if f.mine() {
			continue
		}
		kept := groups[i][:0:0]
		for _, p := range groups[i] {
			switch {
			case p.admission != nil && f.Origin != originLocal:
				kept = append(kept, p)
				continue
			case p.found != nil && p.found.Cause == CauseNotAllowed:
				last = append(last, p)
				continue
			}
			if at := installed[p.Name]; at != "" && f.Origin == originLocal {
				p.found = &Failure{CauseRefused, fmt.Sprintf("%s is installed in %s, and %s does not replace an installation", p.Name, at, f.Path),
					"name the folder with --plugin-path or " + EnvPath + " if you mean it, or remove the installed one with `burn plugin remove " + p.Name + "`", core.ErrProtocol}
				last = append(last, p)
				continue
			}
			admission := o.admission(store.UserDir())
			if lock, plugin := admission.LockedName(p.Name); lock != "" {
				p.found = &Failure{CauseRefused, fmt.Sprintf("the lock %s holds %s, and %s was not installed with it", lock, plugin, p.Path),
					"run `burn plugin install " + p.Name + "` for the one of the lock; or name the folder with --plugin-path or " + EnvPath + " if you mean it", core.ErrProtocol}
				last = append(last, p)
				continue
			}
			kept = append(kept, p)
		}
		groups[i] = kept
	}
	return append(groups, last)
}

// find is like Find, but asks the user about ./burn_plugins if that folder contains plugin want or, with an empty want, any plugin that
// would be used.
func find(ctx context.Context, o Options, want string) (winners, shadowed []Plugin) {
	winners, shadowed = Find(o)
	if o.Ask == nil {
		return winners, shadowed
	}
	i := slices.IndexFunc(winners, func(p Plugin) bool {
		return p.found != nil && p.found.Cause == CauseNotAllowed && (want == "" || p.Name == want)
	})
	if i < 0 {
		return winners, shadowed
	}
	l, err := Local(localDir)
	if err != nil || !o.Ask(*l) {
		return winners, shadowed
	}
	if err := l.Allow(ctx); err != nil {
		winners[i].found.Detail = err.Error()
		return winners, shadowed
	}
	return Find(o)
}
