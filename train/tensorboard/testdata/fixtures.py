"""Writes golden.bin with TensorBoard's own messages and sums: what events_test.go writes in Go must be equal byte by byte.

With a folder as argument, lists the scalars that TensorBoard's reader finds in it.

pip install tensorboard; python fixtures.py [DIR]
"""
import os, struct, sys
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

if len(sys.argv) > 1:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    for run in sorted(os.listdir(sys.argv[1])):
        a = EventAccumulator(os.path.join(sys.argv[1], run), size_guidance={"scalars": 0})
        a.Reload()
        for tag in a.Tags()["scalars"]:
            print(run, tag, [(e.step, round(e.value, 6)) for e in a.Scalars(tag)])
    sys.exit()

events = [
    event_pb2.Event(wall_time=1700000000.5, file_version="brain.Event:2"),
    event_pb2.Event(wall_time=1700000001.25, step=300, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    event_pb2.Event(wall_time=1700000002.0, step=301, summary=summary_pb2.Summary(value=[
        summary_pb2.Summary.Value(tag="batch/loss", simple_value=0.1), summary_pb2.Summary.Value(tag="batch/ünïcode", simple_value=float("inf"))])),
    event_pb2.Event(wall_time=-1.0, step=1 << 40, summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="epoch/loss", simple_value=-2.5)])),
]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.bin"), "wb") as f:
    for e in events:
        data = e.SerializeToString()
        length = struct.pack("<Q", len(data))
        f.write(length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data)))
