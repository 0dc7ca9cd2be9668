package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/core"
)

// ReadOptions reads the options of core.Config that backends with streams have: memory_limit (bytes, with an optional suffix K, M, G or T),
// tf32, plain, in_order, channels_first, direct (true or false) and cache (an absolute path or off). BURN_NAME_PLAIN=1 in the environment
// sets plain. For unknown options and values that do not parse the error is ErrAttr.
func ReadOptions(backend string, c core.Config) (Options, error) {
	o, _, err := readOptions(backend, c, "memory_limit", "tf32", "plain", "in_order", "channels_first", "direct", "cache")
	return o, err
}

// ReadPatientOptions is ReadOptions for backends that have the options memory_limit, plain, cache and patience (a duration above 0). It
// returns a patience of 0 if the option is not set.
func ReadPatientOptions(backend string, c core.Config) (o Options, patience time.Duration, err error) {
	return readOptions(backend, c, "memory_limit", "plain", "patience", "cache")
}

func readOptions(backend string, c core.Config, names ...string) (o Options, patience time.Duration, err error) {
	o.Plain = os.Getenv("BURN_"+strings.ToUpper(backend)+"_PLAIN") == "1"
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "burn", "kernels", backend)
	}
	for name, text := range c.Options {
		if last := len(names) - 1; !slices.Contains(names, name) {
			return o, 0, fmt.Errorf("%s: option %q, want %s or %s: %w", backend, name, strings.Join(names[:last], ", "), names[last], core.ErrAttr)
		}
		var err error
		switch name {
		case "memory_limit":
			o.MemoryLimit, err = parseBytes(text)
		case "tf32":
			o.TF32, err = strconv.ParseBool(text)
		case "plain":
			o.Plain, err = strconv.ParseBool(text)
		case "in_order":
			o.InOrder, err = strconv.ParseBool(text)
		case "channels_first":
			o.ChannelsFirst, err = strconv.ParseBool(text)
		case "direct":
			o.NoDirect, err = strconv.ParseBool(text)
			o.NoDirect = !o.NoDirect
		case "patience":
			if patience, err = time.ParseDuration(text); err == nil && patience <= 0 {
				err = fmt.Errorf("got %q, want a duration such as 30s", text)
			}
		case "cache":
			o.Cache = text
			if text != "off" && !filepath.IsAbs(text) {
				err = fmt.Errorf("got %q, want an absolute path or off", text)
			}
		}
		if err != nil {
			return o, 0, fmt.Errorf("%s: option %s: %w: %w", backend, name, core.ErrAttr, err)
		}
	}
	if o.Cache == "off" || o.Cache == "" {
		o.Cache, o.NoCache = "", true
	}
	return o, patience, nil
}

func parseBytes(text string) (int64, error) {
	digits, shift := strings.TrimSpace(text), 0
	if n := len(digits); n > 0 {
		if i := strings.IndexByte("KMGT", digits[n-1]&^0x20); i >= 0 {
			digits, shift = digits[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("got %q, want a number of bytes such as 512M", text)
	}
	return n << shift, nil
}
