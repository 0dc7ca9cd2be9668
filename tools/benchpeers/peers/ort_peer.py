"""ONNX Runtime as a contestant: {"onnx": path of a model, "inputs": {name: path of .npy}}."""

import numpy
import onnxruntime

import peer

version = onnxruntime.__version__
onnxruntime.set_default_logger_severity(3)


def session(path, threads):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])


class Runtime(peer.Peer):
    threads = 1

    def prepare(self, req):
        s = session(req["onnx"], self.threads)
        feed = {name: numpy.load(path) for name, path in req["inputs"].items()}
        return lambda: s.run(None, feed)

    def arrays(self, result):
        return [numpy.asarray(a) for a in result]


def make(threads, out):
    p = Runtime(out)
    p.threads = threads
    return p
