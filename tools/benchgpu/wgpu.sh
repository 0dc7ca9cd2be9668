#!/usr/bin/env bash
# The wgpu plugin on a GPU of NVIDIA's, through its Vulkan driver, on a machine that has neither Go nor Vulkan's loader.
#
#   wgpu.sh pack DIR [DATA [MNIST]]   builds everything for linux/amd64 and packs it into DIR/wgpu-bundle.tar.xz (needs Go, pip, and
#                                     libvulkan1 and libxext6 installed); DATA and MNIST as for bundle.sh
#   wgpu.sh run [PART...]             beside what was packed; without a part, those up to numbers, in this order:
#     devices      what the plugin and Vulkan see
#     tests        the plugin's own tests: 1,000 dependent launches, numbers that are not ordinary
#     resnet       light_resnet50, batch 1, from the first run on and again with the caches of that run
#     ops          copy, elementwise, reductions of rows, products, 1,000 launches of one program; then the same of PyTorch for the ratios
#     numbers      cases of profile core with NaN, infinities and subnormal numbers
#     models       the models with expected results
#     mnist        the CNN, EPOCHS epochs, on the device and on the processor
#     conformance  every profile of PROFILES, with a report package
#     kill         training while the plugin is killed
#     products     ways to write the kernel of a product, for SIZES, within PRODUCTS seconds; those whose name matches FORMS
#     soak         SOAK of mixed work with the memory sampled
#
# Settings of run: OUT=./out  LIMIT=280 (seconds a step)  BUDGET=145 (seconds for all)  PY=python3 (with torch)  EPOCHS=3  SOAK=4m  RUN=REGEXP (cases)
# PROFILES="core nn training half quant"  JOBS=8  DEVICE=wgpu:0  SIZES="2048 4096"  PRODUCTS=90  FORMS=REGEXP  OPS=REGEXP (cases of ops, in place of RUN).
# Results: $OUT/table.txt, $OUT/*.log, $OUT/ops.jsonl and report packages.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)

pack() {
	mkdir -p "$1"
	local dir b data=${2:-} mnist=${3:-} lib name; dir=$(cd "$1" && pwd); b=$dir/wgpu-bundle
	cd "$HERE/../.."
	rm -rf "$b"; mkdir -p "$b/plugins" "$b/lib" "$b/bin" "$b/models" "$b/data/mnist"
	export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
	go build -trimpath -ldflags='-s -w' -o "$b/bin/burn" ./cmd/burn
	go build -trimpath -ldflags='-s -w' -o "$b/bin/benchgpu" ./tools/benchgpu
	(cd plugins/wgpu && go build -trimpath -ldflags='-s -w' -o "$b/plugins/burn-backend-wgpu" ./cmd/burn-backend-wgpu &&
		go test -trimpath -c -o "$b/bin/wgpu.test" . && go test -trimpath -c -o "$b/bin/native.test" ./internal/native)
	unset CGO_ENABLED GOOS GOARCH
	go run ./tools/wgpunative -platform linux/amd64 -out "$b/plugins" -python "${PY:-python3}"
	go run ./tools/manifest -os linux -arch amd64 -needs plugins/wgpu/needs.toml "$b/plugins/burn-backend-wgpu"
	# Vulkan's loader, and what NVIDIA's driver needs of X.
	for lib in libvulkan.so.1 libXext.so.6 libX11.so.6 libxcb.so.1 libXau.so.6 libXdmcp.so.6 libbsd.so.0 libmd.so.0; do
		name=$(ldconfig -p | awk -v l="$lib" '$1 == l && /x86-64/ {print $NF; exit}')
		if [ -n "$name" ]; then cp -L "$name" "$b/lib/$lib"; else echo "wgpu.sh: no $lib" >&2; fi
	done
	for name in "$data"/models/*; do [ ! -d "$name/test_data_set_0" ] || cp -r "$name" "$b/models/"; done
	if ls "$mnist"/train-images-idx3-ubyte > /dev/null 2>&1; then cp "$mnist"/*-ubyte "$b/data/mnist/"; else echo "wgpu.sh: no MNIST" >&2; fi
	cp tools/benchgpu/wgpu.sh tools/benchgpu/bandwidth.py "$b/"
	tar -C "$dir" --owner=0 --group=0 -cf - wgpu-bundle | xz -T1 --x86 --lzma2=preset=3,dict=192MiB > "$dir/wgpu-bundle.tar.xz"
	ls -l "$dir/wgpu-bundle.tar.xz"
}

# step NAME COMMAND...: output goes to $OUT/NAME.log, and a line to the table.
step() {
	local name=$1 rc=0 limit=$LIMIT left begin; shift
	left=$((BUDGET - SECONDS)); begin=$SECONDS
	[ "$left" -gt 8 ] || { note "$name" "not run: no time is left"; return 0; }
	[ "$limit" -lt "$left" ] || limit=$left
	timeout -k 5 "$limit" "$@" > "$OUT/$name.log" 2>&1 < /dev/null || rc=$?
	note "$name" "exit $rc, $((SECONDS - begin)) s: $(grep -v '^[[:space:]]*$' "$OUT/$name.log" | tail -1 | cut -c1-160)"
}
note() { printf '%-24s %s\n' "$1" "$2" | tee -a "$OUT/table.txt"; }
show() { { grep '^|' "$OUT/$1.log" || true; } | tee -a "$OUT/table.txt"; }

part_devices() {
	step nvidia_smi nvidia-smi
	step devices "$BURN" devices --verbose
	cat "$OUT/devices.log" >> "$OUT/table.txt"
}

part_tests() { step tests env BURN_WGPU_REQUIRED=1 "$HERE/bin/wgpu.test" -test.v -test.run 'TestChain|TestNumbers|TestNaNStays|TestMissing|TestOptions'; }

part_ops() {
	step ops "$HERE/bin/benchgpu" ops -device "$DEVICE" -python "" -json "$OUT/ops.jsonl" \
		-run "${OPS:-${RUN:-^(negate|add|gelu_chain|row_sum|row_max|softmax|layer_norm|sum|column_sum|matmul_f32|matmul_f32_2048|dispatches|cumsum|transpose|gather_rows|host_run|round_trip|tiny_eager_1000)\$}}"
	show ops
	step copy "$PY" "$HERE/bandwidth.py"
	cat "$OUT/copy.log" >> "$OUT/table.txt"
}

part_products() {
	step products env BURN_WGPU_PRODUCTS="$SIZES" BURN_WGPU_PRODUCTS_TIME="${PRODUCTS}s" BURN_WGPU_PRODUCTS_RUN="$FORMS" \
		"$HERE/bin/native.test" -test.run '^$' -test.bench '^BenchmarkProduct$' -test.benchtime 1x
	{ grep '^device' "$OUT/products.log" || true; } >> "$OUT/table.txt"
	show products
}

part_resnet() {
	local model=$HERE/models/light_resnet50/model.onnx
	step resnet_cold "$BURN" run "$model" --device "$DEVICE" --input "$HERE/models/light_resnet50/test_data_set_0/input_0.pb" --top 1 --verbose
	step resnet_warm "$BURN" run "$model" --device "$DEVICE" --input "$HERE/models/light_resnet50/test_data_set_0/input_0.pb" --top 1 --verbose
	step resnet "$BURN" bench model "$model" --device "$DEVICE" --batch 1 --min-time 3s
	tail -8 "$OUT/resnet.log" >> "$OUT/table.txt"
}

part_numbers() {
	step numbers "$BURN" conformance run "process:$DEVICE" --profile core --jobs "$JOBS" --timeout 60s --report "$OUT/numbers.tar.gz" --run '/(special|nan)$'
	{ grep -m 40 -i 'fail' "$OUT/numbers.log" || true; } | cut -c1-220 >> "$OUT/table.txt"
}

part_models() { step models "$BURN" conformance onnx "$HERE/models" --device "$DEVICE" --rtol 1e-3 --atol 1e-4 --json "$OUT/models.json" --verbose; }

part_mnist() {
	local d
	for d in "$DEVICE" builtin:cpu; do
		step "mnist_${d%%:*}" env BURN_FUSION=true "$BURN" train mnist --device "$d" --epochs "$EPOCHS" --out "$WORK/mnist_${d%%:*}" --plain
		{ grep -i test "$OUT/mnist_${d%%:*}.log" || true; } | tail -3 >> "$OUT/table.txt"
	done
}

part_conformance() {
	local p
	for p in $PROFILES; do
		step "conformance_$p" "$BURN" conformance run "process:$DEVICE" --profile "$p" --jobs "$JOBS" --timeout 60s --report "$OUT/$p.tar.gz" ${RUN:+--run "$RUN"}
		{ grep -m 20 -i 'fail' "$OUT/conformance_$p.log" || true; } | cut -c1-200 >> "$OUT/table.txt"
	done
}

# plugin_of PID: the plugin processes below it; they run from sealed memory, so that the first argument alone has the name.
plugin_of() {
	local c
	for c in $(cat /proc/"$1"/task/*/children 2> /dev/null || true); do
		case $(tr '\0' '\n' < "/proc/$c/cmdline" 2> /dev/null | head -1) in */burn-backend-*) echo "$c";; *) plugin_of "$c";; esac
	done
}

part_kill() {
	local pid rc=0 victim
	"$BURN" train mnist --print-config | sed 's/^checkpoint_every.*/checkpoint_every = 100/' > "$WORK/kill.toml"
	timeout -k 5 "$LIMIT" "$BURN" train mnist --config "$WORK/kill.toml" --device "process:$DEVICE" --epochs 2 --out "$WORK/kill" --plain > "$OUT/kill.log" 2>&1 < /dev/null &
	pid=$!
	for _ in 1 2 3; do
		sleep 6
		victim=$(plugin_of $pid | head -1)
		[ -z "$victim" ] || { kill -9 "$victim"; note "  kill" "process $victim"; }
	done
	wait $pid || rc=$?
	note kill "exit $rc: $(grep -v '^[[:space:]]*$' "$OUT/kill.log" | tail -1 | cut -c1-160)"
	{ grep -ih 'lost\|restart\|goes on' "$OUT/kill.log" "$WORK/kill/experiment.log" 2> /dev/null || true; } | cut -c1-200 | head -9 >> "$OUT/table.txt"
}

part_soak() {
	LIMIT=$BUDGET step soak "$HERE/bin/benchgpu" soak -device "$DEVICE" -time "$SOAK" -csv "$OUT/soak.csv"
	show soak
}

run() {
	OUT=${OUT:-./out} LIMIT=${LIMIT:-280} BUDGET=${BUDGET:-145} PY=${PY:-python3} EPOCHS=${EPOCHS:-3} SOAK=${SOAK:-4m} DEVICE=${DEVICE:-wgpu:0} JOBS=${JOBS:-8}
	SIZES=${SIZES:-2048 4096} PRODUCTS=${PRODUCTS:-90} FORMS=${FORMS:-} PROFILES=${PROFILES:-core nn training half quant} BURN=$HERE/bin/burn WORK=$(mktemp -d) icd='' part=''
	mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
	trap 'rm -rf "$WORK"' EXIT
	export BURN_WGPU_LIBRARY=$HERE/plugins/libwgpu_native.so LD_LIBRARY_PATH=$HERE/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} BURN_PLUGIN_PATH=$HERE/plugins BURN_PLUGIN_CONTAINMENT=off BURN_DATA=$HERE/data
	export XDG_CACHE_HOME=$WORK/cache XDG_CONFIG_HOME=$WORK/config
	icd=$(ls /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd*.json /usr/share/vulkan/icd.d/nvidia_icd*.json /etc/vulkan/icd.d/nvidia_icd*.json 2> /dev/null | head -1 || true)
	if [ -z "$icd" ]; then
		icd=$WORK/nvidia_icd.json
		printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.3.0"}}\n' > "$icd"
	fi
	export VK_ICD_FILENAMES=${VK_ICD_FILENAMES:-$icd}
	# Without an X server the driver's libGLX_nvidia.so.0 may find no GPU where its libEGL_nvidia.so.0 does.
	if ! "$BURN" devices 2> /dev/null | grep -q 'wgpu:0 .*ready'; then
		printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_nvidia.so.0", "api_version": "1.3.0"}}\n' > "$WORK/nvidia_egl.json"
		export VK_ICD_FILENAMES=$WORK/nvidia_egl.json
	fi
	for part in ${*:-devices tests resnet ops numbers}; do "part_$part"; done
}

case ${1:-} in
pack) shift; pack "${1:?the folder to pack into}" "${2:-}" "${3:-}" ;;
run) shift; run "$@" ;;
*) sed -n '2,23s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
