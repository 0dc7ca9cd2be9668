#!/usr/bin/env bash
# Proves and measures a GPU plugin on a machine that has no Go: everything it runs lies beside it, as `make gpu-bundle` packs it.
#
#   h200.sh [PART...]        without a part: lists them
#
# Each step has its own limit and ends nothing but itself. Results go to $OUT: log.txt (all output, cut to 200 lines a step), table.txt (a line
# a step, then the tables), ops.jsonl, and raw.tar.gz with everything. Settings, with their defaults:
#
#   OUT=./out  DEVICE=cuda:0  PY=python3 (with torch)  BUDGET=560 (seconds for all parts)  TF32=tf32=true (option of the backend)
#   FUSION=1  JOBS=12 (cases at the same time)  SOAK=8m  EPOCHS=10  KILLS=3  PROFILES="core nn training half quant"  SAN_RUN=... (cases under the sanitizer)
#   NCU_RUN='^softmax$' (cases of the part ncu)  CONTAIN=off (what plugins may do; the part contained has it on)
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-./out}; DEVICE=${DEVICE:-cuda:0}; PY=${PY:-python3}; BUDGET=${BUDGET:-560}; TF32=${TF32:-tf32=true}; FUSION=${FUSION:-1}; JOBS=${JOBS:-12}
SOAK=${SOAK:-8m}; EPOCHS=${EPOCHS:-10}; KILLS=${KILLS:-3}; PROFILES=${PROFILES:-core nn training half quant}; NCU_RUN=${NCU_RUN:-^softmax\$}; CONTAIN=${CONTAIN:-off}
SAN_RUN=${SAN_RUN:-'^(add|exp|where|sum|reduce_max|argmax|cumsum|sort|matmul|conv|gather|scatter|concat|pad|permute|window_reduce|softmax|layer_norm|attention|random_bits)/(f32|bf16|i64)/'}
TORCH=${TORCH:-cuda}; SMALL=${SMALL:-} # for a try on a machine without a card: TORCH=cpu SMALL=1 DEVICE=process:cpu

BURN=$HERE/bin/burn; MODELS=$HERE/models; RESNET=$MODELS/light_resnet50/model.onnx
NAME=${DEVICE#process:}; NAME=${NAME%%:*}
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd); WORK=$(mktemp -d "${TMPDIR:-/tmp}/h200.XXXXXX"); RAW=$WORK/raw; mkdir -p "$RAW"
LOG=$OUT/log.txt; TABLE=$OUT/table.txt; : >> "$LOG"; : >> "$TABLE"
START=$(date +%s)
export BURN_PLUGIN_PATH=$HERE/plugins BURN_PLUGIN_CONTAINMENT=$CONTAIN BURN_LOG=${BURN_LOG:-warn} BURN_DATA=$HERE/data XDG_CACHE_HOME=$WORK/cache XDG_CONFIG_HOME=$WORK/config
export PATH=$PATH:/usr/local/cuda/bin TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TRITON_CACHE_DIR=$WORK/triton
mkdir -p "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME"

left() { echo $((BUDGET - $(date +%s) + START)); }

pack() { tar -czf "$OUT/.raw.part" -C "$WORK" raw 2>/dev/null && [ "$(stat -c %s "$OUT/.raw.part")" -lt 15000000 ] && mv "$OUT/.raw.part" "$OUT/raw.tar.gz"; rm -f "$OUT/.raw.part"; }
finish() { pack; [ -n "${KEEP:-}" ] || rm -rf "$WORK"; }
trap finish EXIT
trap 'exit 143' TERM INT

# step NAME LIMIT COMMAND...: its output goes to raw/NAME.log; a line of the table says how it ended.
step() {
	local name=$1 limit=$2 begin rc l; shift 2
	l=$(left)
	if [ "$l" -lt 8 ]; then note "$name" "not run: no time is left"; return 1; fi
	[ "$limit" -lt $((l - 4)) ] || limit=$((l - 4))
	begin=$(date +%s.%N)
	timeout -k 5 "$limit" "$@" > "$RAW/$name.log" 2>&1 < /dev/null; rc=$?
	local took; took=$(echo "$(date +%s.%N) $begin" | awk '{printf "%.1f", $1 - $2}')
	{ echo; echo "##### $name: exit $rc after $took s: $*"; if [ "$(wc -l < "$RAW/$name.log")" -le 200 ]; then cat "$RAW/$name.log"; else head -60 "$RAW/$name.log"; echo "... see raw/$name.log ..."; tail -140 "$RAW/$name.log"; fi; } | cut -c1-600 >> "$LOG"
	case $rc in 0) note "$name" "ok, $took s: $(last "$name")";; 124|137) note "$name" "STOPPED at $limit s: $(last "$name")";; *) note "$name" "FAILED ($rc), $took s: $(last "$name")";; esac
	return $rc
}
last() { grep -v '^[[:space:]]*$' "$RAW/$1.log" | tail -1 | cut -c1-160; }
note() { printf '%-26s %s\n' "$1" "$2" | tee -a "$TABLE"; }
# show NAME: the tables (lines that begin with |) of a step, into the table.
show() { grep '^|' "$RAW/$1.log" 2>/dev/null | tee -a "$TABLE"; }
pick() { if [ -n "$SMALL" ]; then echo "$1"; else echo "$2"; fi; } # the first in a try
fusion() { [ "$FUSION" = 1 ] && echo -fusion; }

unpack() { # the ONNX cases, once
	[ -d "$WORK/cases" ] || { mkdir -p "$WORK/cases"; "$PY" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$HERE/onnx-cases.tar.xz" "$WORK/cases" 2>>"$LOG"; }
}

part_devices() {
	step nvidia_smi 20 nvidia-smi
	step machine 30 bash -c 'nproc; free -g; lscpu | grep -i "model name"; '"$PY"' --version; nvcc --version | tail -2; which ncu compute-sanitizer'
	step torch 90 "$PY" -c 'import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.get_device_name() if torch.cuda.is_available() else "no card")'
	step devices 60 "$BURN" devices --verbose
	step doctor 60 "$BURN" doctor
	step inspect 60 "$BURN" inspect "$RESNET" --device "$DEVICE"
}

part_contained() { # the rules of the manifest, with the folders of the libraries of this machine
	local site plugins=$WORK/contained
	mkdir -p "$plugins"; cp "$HERE/plugins/burn-backend-$NAME" "$HERE/plugins/burn-backend-$NAME.toml" "$plugins/" || return 1
	site=$("$PY" -c 'import site; print("\", \"".join(p for p in site.getsitepackages()))')
	grep -q '^\[needs\]' "$plugins/burn-backend-$NAME.toml" ||
		printf '[needs]\ndevices = ["/dev/nvidia*"]\nread = ["/usr/local", "%s"]\nwrite = ["%s"]\n' "$site" "$XDG_CACHE_HOME" >> "$plugins/burn-backend-$NAME.toml"
	step contained_devices 60 env BURN_PLUGIN_PATH="$plugins" BURN_PLUGIN_CONTAINMENT=on "$BURN" devices --verbose
	step contained_run 120 env BURN_PLUGIN_PATH="$plugins" BURN_PLUGIN_CONTAINMENT=on "$BURN" bench model "$RESNET" --device "$DEVICE" --min-time 1s
}

part_selftest() {
	local found=0 t
	for t in "$HERE"/bin/burn-"$NAME"-*; do
		[ -x "$t" ] && { found=1; step "$(basename "$t")" 300 "$t"; }
	done
	[ $found = 1 ] || note selftest "not run: no bin/burn-$NAME-* in the bundle"
}

part_conformance() {
	local p
	for p in $PROFILES; do
		step "conformance_$p" "${CONFORMANCE_LIMIT:-400}" "$BURN" conformance run "process:${DEVICE#process:}" --profile "$p" --timeout 60s --jobs "$JOBS" --report "$RAW/conformance_$p.tar.gz" ${RUN:+--run "$RUN"}
		note "  $p" "$(tail -1 "$RAW/conformance_$p.log" 2>/dev/null)"
		grep -m 40 -i 'fail' "$RAW/conformance_$p.log" | cut -c1-200 | head -40 >> "$LOG"
	done
}

part_onnx() {
	unpack
	step onnx_cases "${ONNX_LIMIT:-300}" "$BURN" conformance onnx "$WORK/cases" --device "$DEVICE" --jobs "$JOBS" --json "$RAW/onnx_cases.json" ${RUN:+--run "$RUN"}
	step onnx_models 240 "$BURN" conformance onnx "$MODELS" --device "$DEVICE" --rtol 1e-3 --atol 1e-4 --json "$RAW/onnx_models.json" --verbose
}

# sanitize TOOL CASES: the plugin under compute-sanitizer, as a child of burn; if it was not seen, started through a wrapper.
sanitize() {
	local tool=$1 cases=$2 wrap=$WORK/wrap_$1
	command -v compute-sanitizer > /dev/null || { note "sanitizer_$tool" "not run: no compute-sanitizer"; return; }
	mkdir -p "$wrap"
	# The wrapper is what the host starts, so that stdout carries the handshake alone.
	printf '#!/bin/bash\nexec compute-sanitizer --tool %s --target-processes all --log-file "%s/%s.%%p.log" --error-exitcode 0 "%s" "$@"\n' \
		"$tool" "$RAW" "$tool" "$HERE/plugins/burn-backend-$NAME" > "$wrap/burn-backend-$NAME"
	chmod +x "$wrap/burn-backend-$NAME"
	export BURN_HEARTBEAT=off BURN_START_TIMEOUT=2m BURN_OPEN_TIMEOUT=off BURN_DEFINE_TIMEOUT=off
	step "sanitizer_$tool" "${SAN_LIMIT:-180}" compute-sanitizer --tool "$tool" --target-processes all --log-file "$RAW/$tool.%p.log" --error-exitcode 0 \
		"$BURN" conformance run "process:${DEVICE#process:}" --profile core --run "$cases" --timeout 5m
	grep -qs 'ERROR SUMMARY\|RACECHECK SUMMARY' "$RAW/$tool".*.log || step "sanitizer_${tool}_wrapped" "${SAN_LIMIT:-180}" \
		"$BURN" conformance run "$wrap/burn-backend-$NAME" --profile core --run "$cases" --timeout 5m
	unset BURN_HEARTBEAT BURN_START_TIMEOUT BURN_OPEN_TIMEOUT BURN_DEFINE_TIMEOUT
	note "  $tool" "$(cat "$RAW/$tool".*.log 2>/dev/null | grep -h 'SUMMARY' | sort | uniq -c | tr '\n' ';' | cut -c1-200)"
	cat "$RAW/$tool".*.log 2>/dev/null | head -80 | cut -c1-200 >> "$LOG"
}

part_sanitizer() { sanitize memcheck "$SAN_RUN"; sanitize racecheck "$SAN_RUN"; sanitize initcheck "$SAN_RUN"; }

part_hidden() { # the same without the libraries that need not be there
	local hide p
	for hide in ${HIDE:-cudnn,cublaslt cudnn cublaslt}; do
		export BURN_CUDA_HIDE=$hide
		step "hidden_${hide/,/_}_devices" 60 "$BURN" devices --verbose
		for p in core nn; do
			step "hidden_${hide/,/_}_$p" "${HIDDEN_LIMIT:-200}" "$BURN" conformance run "process:${DEVICE#process:}" --profile "$p" --timeout 60s --jobs "$JOBS" ${RUN:+--run "$RUN"}
			note "  $p" "$(tail -1 "$RAW/hidden_${hide/,/_}_$p.log")"
		done
		step "hidden_${hide/,/_}_ops" 90 "$HERE/bin/benchgpu" ops -device "$DEVICE" -python "" -tf32 "$TF32" -run '^(matmul|attention)' -json "$RAW/hidden_${hide/,/_}.jsonl" ${SMALL:+-small}
		show "hidden_${hide/,/_}_ops"
		step "hidden_${hide/,/_}_resnet" 60 "$BURN" bench model "$RESNET" --device "$DEVICE" --min-time 1s
		unset BURN_CUDA_HIDE
		[ -n "${HIDE:-}" ] || break # the pair says most; HIDE names others
	done
}

part_ops() {
	step ops 420 "$HERE/bin/benchgpu" ops -device "$DEVICE" -python "$PY" -torch "$TORCH" -tf32 "$TF32" -run "${RUN:-}" -json "$OUT/ops.jsonl" ${SMALL:+-small -sample 2ms -repeats 3}
	show ops
}

part_models() {
	local p b
	for p in f32 bf16; do for b in 1 64; do
		step "model_${p}_$b" 90 "$BURN" bench model "$RESNET" --device "$DEVICE" --precision "$p" --batch "$(pick 2 "$b")" --min-time "$(pick 200ms 3s)"
	done; done
	step models_torch 300 "$PY" "$HERE/models.py" --device "$TORCH" --json "$RAW/models.jsonl" --seconds 1.5 ${SMALL:+--size 64 --batches 1 --types f32,bf16 --modes eager --seconds 0.2}
	show models_torch
}

part_train() {
	step train 420 "$HERE/bin/benchtrain" -python "$PY" -device "$DEVICE" -torch "$TORCH" -threads 8 -cases "mnist_cnn,mnist_cnn_1024" -modes "${MODES:-eager,default,reduce-overhead}" $(fusion) -time "$(pick 300ms 6s)"
	show train
}

part_gpt2() {
	mkdir -p "$RAW/curves"
	step gpt2 520 "$HERE/bin/benchtrain" -python "$PY" -device "$DEVICE" -torch "$TORCH" -threads 8 -cases "$(pick gpt2_tiny gpt2)" -precision bf16 $(fusion) -modes "${MODES:-eager,default}" \
		-curve "$RAW/curves" -steps "$(pick 30 200)" -time "$(pick 300ms 8s)"
	show gpt2
	cp "$RAW"/curves/*.csv "$OUT/" 2>/dev/null
}

# steps: training steps with the counters of the device at the end of each process. In steady state a step is one graph: GraphRuns is near
# the number of steps, Graphs and NodePlans are those of the first steps, GraphPatches and Steps a few for each step, Nodes none. The
# curve has a rate at which PyTorch's does not jump.
part_steps() {
	local c
	mkdir -p "$RAW/curves"
	for c in mnist_cnn mnist_cnn_1024; do
		BURN_GPU_STATS=$RAW/stats_$c.jsonl step "steps_$c" 180 "$HERE/bin/benchtrain" -python "$PY" -device "$DEVICE" -torch "$TORCH" -threads 8 -cases "$c" -modes "${MODES:-eager}" \
			$(fusion) -time "$(pick 300ms 5s)"
		show "steps_$c"; counters "$c"
	done
	BURN_GPU_STATS=$RAW/stats_gpt2.jsonl step steps_gpt2 400 "$HERE/bin/benchtrain" -python "$PY" -device "$DEVICE" -torch "$TORCH" -threads 8 -cases "$(pick gpt2_tiny gpt2)" -precision bf16 \
		$(fusion) -modes "${MODES:-eager}" -curve "$RAW/curves" -steps "$(pick 30 200)" -rate 1e-4 -warmup 20 -time "$(pick 300ms 8s)"
	show steps_gpt2; counters gpt2
	cp "$RAW"/curves/*.csv "$OUT/" 2>/dev/null
}
counters() { [ -s "$RAW/stats_$1.jsonl" ] && note "  counters" "$(tail -1 "$RAW/stats_$1.jsonl" | tr -d '{}"' | cut -c1-700)"; }

# cold: the time of the whole command, with the compile cache empty and then warm; the file cache is warm, as a first run comes before.
part_cold() {
	local i t
	step cold_first 120 "$BURN" run "$RESNET" --device "$DEVICE" --input "$MODELS/light_resnet50/test_data_set_0/input_0.pb" --top 1 --verbose
	for i in 1 2 3; do
		t=$WORK/cold_$i; mkdir -p "$t"
		XDG_CACHE_HOME=$t CUDA_CACHE_PATH=$t/nv step "cold_empty_$i" 60 bash -c 'a=$(date +%s.%N); "$@" || exit 1; echo "$(date +%s.%N) $a" | awk "{printf \"%.3f s, empty cache\\n\", \$1-\$2}"' - "$BURN" run "$RESNET" --device "$DEVICE" --input "$MODELS/light_resnet50/test_data_set_0/input_0.pb" --top 1 --verbose
		XDG_CACHE_HOME=$t CUDA_CACHE_PATH=$t/nv step "cold_warm_$i" 60 bash -c 'a=$(date +%s.%N); "$@" || exit 1; echo "$(date +%s.%N) $a" | awk "{printf \"%.3f s, warm cache\\n\", \$1-\$2}"' - "$BURN" run "$RESNET" --device "$DEVICE" --input "$MODELS/light_resnet50/test_data_set_0/input_0.pb" --top 1 --verbose
	done
	step host_run 60 "$HERE/bin/benchgpu" ops -device "$DEVICE" -python "" -run '^(host_run|round_trip|tiny)'
	show host_run
}

part_mnist() {
	export BURN_FUSION=$([ "$FUSION" = 1 ] && echo true || echo false)
	step mnist 500 "$BURN" train mnist --device "$DEVICE" --epochs "$EPOCHS" --out "$WORK/mnist" --plain
	cp "$WORK/mnist/experiment.log" "$RAW/mnist_experiment.log" 2>/dev/null
	grep -i 'test' "$RAW/mnist.log" | tail -3 | tee -a "$TABLE"
	unset BURN_FUSION
}

# plugin_of PID: the plugin processes below it. They run from sealed memory, so that the first argument alone has the name.
plugin_of() {
	local c
	for c in $(cat /proc/"$1"/task/*/children 2>/dev/null || pgrep -P "$1"); do
		case $(tr '\0' '\n' < "/proc/$c/cmdline" 2>/dev/null | head -1) in */burn-backend-*) echo "$c";; *) plugin_of "$c";; esac
	done
}

# kill: the plugin is killed in the middle of training, KILLS times; training ends all the same, and says how far it was set back.
part_kill() {
	local i pid victim l
	l=$(left); [ "$l" -gt 30 ] || { note kill "not run: no time is left"; return; }
	"$BURN" train mnist --print-config | sed 's/^checkpoint_every.*/checkpoint_every = 100/' > "$WORK/kill.toml"
	timeout -k 5 $((l - 10)) "$BURN" train mnist --config "$WORK/kill.toml" --device "process:${DEVICE#process:}" --epochs 2 --out "$WORK/kill" --plain > "$RAW/kill.log" 2>&1 < /dev/null &
	pid=$!
	for i in $(seq 1 "$KILLS"); do
		sleep "${KILL_AFTER:-6}"
		victim=$(plugin_of $pid | head -1)
		[ -n "$victim" ] || { note "  kill $i" "no plugin process was found"; continue; }
		kill -9 "$victim" && note "  kill $i" "killed process $victim"
	done
	wait $pid; local rc=$?
	cp "$WORK/kill/experiment.log" "$RAW/kill_experiment.log" 2>/dev/null
	{ echo; echo "##### kill: exit $rc"; tail -60 "$RAW/kill.log"; grep -i 'lost\|restart\|again\|checkpoint' "$RAW/kill_experiment.log" | tail -40; } | cut -c1-300 >> "$LOG"
	note kill "exit $rc: $(last kill)"
	grep -i 'lost\|restart\|goes on' "$RAW/kill.log" "$RAW/kill_experiment.log" 2>/dev/null | cut -c1-200 | head -12 | tee -a "$TABLE"
}

part_soak() {
	step soak 100000 "$HERE/bin/benchgpu" soak -device "$DEVICE" -time "$SOAK" -csv "$OUT/soak.csv" ${SMALL:+-unit 8 -every 200ms}
	show soak
}

part_ncu() { # a profile of the kernels of a case
	step ncu 200 ncu --target-processes all --set full --launch-count "${NCU_COUNT:-12}" -f -o "$OUT/ncu" "$HERE/bin/benchgpu" ops -device "$DEVICE" -python "" -run "$NCU_RUN" -repeats 1 -sample 1us
	step ncu_text 60 ncu --import "$OUT/ncu.ncu-rep" --page details
	cp "$RAW/ncu_text.log" "$OUT/ncu.txt" 2>/dev/null
}

PARTS="devices contained selftest conformance onnx sanitizer hidden ops models train gpt2 steps cold mnist kill soak ncu"
[ $# -gt 0 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; echo "parts: $PARTS"; exit 2; }
for part in "$@"; do
	case " $PARTS " in *" $part "*) ;; *) echo "h200.sh: no part $part, want one of: $PARTS" >&2; exit 2;; esac
done
for part in "$@"; do
	note "== $part" "$(date -u +%H:%M:%S), $(left) s left"
	"part_$part"
	pack
done
note "== end" "$(date -u +%H:%M:%S), $(left) s left"
