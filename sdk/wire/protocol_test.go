package wire

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// TestDocument checks that PROTOCOL.md, the .proto file and the constants agree.
func TestDocument(t *testing.T) {
	md, err := os.ReadFile("PROTOCOL.md")
	require.NoError(t, err)
	proto, err := os.ReadFile("backend.proto")
	require.NoError(t, err)
	number := func(b []byte, pattern string) int {
		m := regexp.MustCompile(pattern).FindSubmatch(b)
		require.NotNil(t, m, pattern)
		n, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		return n
	}
	require.Equal(t, Version, number(md, `(?m)^Version (\d+)\.`))
	require.Equal(t, Version, number(proto, `burn-protocol-version: (\d+)`))
	for i, s := range core.Sentinels() {
		require.Regexp(t, fmt.Sprintf(`(?m)^\| %d \| %s \|`, i+1, regexp.QuoteMeta(s.Error())), string(md))
	}
	require.Contains(t, string(md), "(section 4: element type, rank, dimensions)") // where types are defined
	for _, d := range append(dtype.All(), dtype.Smalls.List()...) {
		require.Regexp(t, fmt.Sprintf(`\b%d %v\b`, uint8(d), d), string(md))
	}
	for name, tag := range map[string]Tag{"OPEN": TagOpen, "NODE": TagNode, "FREE": TagFree, "WRITE": TagWrite, "BEGIN_WRITE": TagBeginWrite,
		"CHUNK": TagChunk, "READ": TagRead, "SIGNAL": TagSignal, "WAIT": TagWait, "AWAIT": TagAwait, "CANCEL": TagCancel, "DEFINE": TagDefine, "RUN": TagRun,
		"COPY": TagCopy, "ALL_REDUCE": TagAllReduce, "ALL_GATHER": TagAllGather, "BROADCAST": TagBroadcast,
		"OPENED": TagOpened, "DATA": TagData, "DONE": TagDone, "FAIL": TagFail,
		"SEGMENT": TagSegment, "RETIRE": TagRetire, "WRITE_SHARED": TagWriteShared, "READ_SHARED": TagReadShared, "KEPT": TagKept,
		"PART": TagPart, "RELEASE": TagRelease} {
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `%s` \\| 0x%02x \\|", name, byte(tag)), string(md))
	}
	for name, n := range map[string]int{"MaxFrame": MaxFrame, "ChunkSize": ChunkSize, "MaxInline": MaxInline, "MaxName": MaxName, "MaxText": MaxText,
		"MaxNames": MaxNames, "MaxAttrs": MaxAttrs, "MaxErrorDepth": MaxErrorDepth, "MaxBlamed": MaxBlamed, "MaxEvents": MaxEvents, "MaxRequests": MaxRequests, "MaxSegments": MaxSegments,
		"MaxProfile": MaxProfile, "MaxProfileSteps": core.MaxProfileSteps, "MaxProfileRecords": core.MaxProfileRecords, "MaxProfileOps": core.MaxProfileOps,
		"MaxProfileTensors": core.MaxProfileTensors,
		"TokenSize":         TokenSize} {
		require.Regexp(t, fmt.Sprintf(`(?m)^\| %s \| %d \|`, name, n), string(md))
	}
	for _, text := range []string{CookieKey, CookieValue, EnvHostPID, EnvHostPipe, EnvLog, EnvReattach, FeatureSocket, FeatureMemfd, EnvDataPlane} {
		require.Contains(t, string(md), text)
	}
}
