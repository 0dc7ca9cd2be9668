// The functions of torch's stable C ABI that this backend calls, for a torch that is too old to have them: compiled against its headers by
// the user's compiler, for the cpu. Names, arguments and ownership are those of torch 2.13, so that the caller needs no other code.
//
// A stable value is 64 bits: an integer, a float's bits, a truth value, the handle of a tensor, list or string, or for an optional value
// the address of 64 bits that are freed with it, 0 for none. A handle is the address of an object on the heap, which its owner deletes.
// What an operator is called with becomes its own. Every function returns 0, or 1 with the words in thread-local memory.

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/scatter_reduce.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>
#include <torch/version.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Value = uint64_t;
using Values = std::vector<Value>;

thread_local std::string words;

template <class F>
int32_t guard(F f) {
  try {
    f();
    return 0;
  } catch (const c10::Error& e) {
    words = e.what_without_backtrace();
  } catch (const std::exception& e) {
    words = e.what();
  } catch (...) {
    words = "an exception that is none of the standard library";
  }
  return 1;
}

at::Tensor& tensor(void* h) { return *static_cast<at::Tensor*>(h); }

void* handle(at::Tensor t) { return new at::Tensor(std::move(t)); }

Value word(const void* p) { return reinterpret_cast<Value>(p); }

// taken moves the object of a handle out, and deletes the handle.
template <class T>
T taken(Value v) {
  T* p = reinterpret_cast<T*>(v);
  T x = std::move(*p);
  delete p;
  return x;
}

template <class T, class F>
c10::List<T> list(const Values& v, F element) {
  c10::List<T> l;
  l.reserve(v.size());
  for (Value x : v) l.push_back(element(x));
  return l;
}

double real(Value v) {
  double d;
  std::memcpy(&d, &v, sizeof d);
  return d;
}

// argument is the value of a type, whose handles are deleted.
c10::IValue argument(const c10::TypePtr& t, Value v) {
  switch (t->kind()) {
    case c10::TypeKind::TensorType:
      return taken<at::Tensor>(v);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return static_cast<int64_t>(v);
    case c10::TypeKind::BoolType:
      return v != 0;
    case c10::TypeKind::FloatType:
      return real(v);
    case c10::TypeKind::StringType:
      return taken<std::string>(v);
    case c10::TypeKind::OptionalType: {
      if (v == 0) return c10::IValue();
      return argument(t->castRaw<c10::OptionalType>()->getElementType(), taken<Value>(v));
    }
    case c10::TypeKind::ListType: {
      Values all = taken<Values>(v);
      switch (t->castRaw<c10::ListType>()->getElementType()->kind()) {
        case c10::TypeKind::TensorType:
          return list<at::Tensor>(all, [](Value x) { return taken<at::Tensor>(x); });
        case c10::TypeKind::IntType:
        case c10::TypeKind::SymIntType:
          return list<int64_t>(all, [](Value x) { return static_cast<int64_t>(x); });
        case c10::TypeKind::FloatType:
          return list<double>(all, real);
        case c10::TypeKind::BoolType:
          return list<bool>(all, [](Value x) { return x != 0; });
        default:
          break;
      }
      break;
    }
    default:
      break;
  }
  throw std::runtime_error("an argument of type " + t->str() + " cannot be passed");
}

Value result(const c10::IValue& v) {
  if (v.isTensor()) return word(handle(v.toTensor()));
  if (v.isInt()) return static_cast<Value>(v.toInt());
  if (v.isBool()) return v.toBool();
  if (v.isDouble()) {
    double d = v.toDouble();
    Value w;
    std::memcpy(&w, &d, sizeof w);
    return w;
  }
  if (v.isTensorList()) {
    auto all = new Values;
    for (const at::Tensor& t : v.toTensorVector()) all->push_back(word(handle(t)));
    return word(all);
  }
  throw std::runtime_error("a result of type " + v.tagKind() + " cannot be passed");
}

// scalar is alpha for a sum of the given type: torch takes no float for integers.
c10::Scalar scalar(double alpha, const at::Tensor& a, const at::Tensor& b) {
  if (c10::isIntegralType(at::result_type(a, b), true)) return static_cast<int64_t>(alpha);
  return alpha;
}

bool missing(const char* name, const char* overload) { return !c10::Dispatcher::singleton().findSchema({name, overload}); }

}  // namespace

// Operators of later torches that the backend cannot do without, or that cost nothing to say with those of this one.
TORCH_LIBRARY_FRAGMENT(aten, m) {
  if (missing("aten::_foreach_addcmul", "Tensor")) {
    m.def("_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]",
          [](at::TensorList self, at::TensorList a, at::TensorList b, const at::Tensor& scalars) {
            std::vector<at::Tensor> all;
            for (size_t i = 0; i < self.size(); i++)
              all.push_back(at::addcmul(self[i], a[i], b[i], scalars[static_cast<int64_t>(i)].item()));
            return all;
          });
  }
  if (missing("aten::_native_batch_norm_legit_no_training", "")) {
    m.def(
        "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
        "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        [](const at::Tensor& x, const c10::optional<at::Tensor>& w, const c10::optional<at::Tensor>& b, const at::Tensor& mean,
           const at::Tensor& var, double momentum, double eps) {
          return at::native_batch_norm(x, w, b, mean, var, false, momentum, eps);
        });
  }
}

EXPORT uint64_t aoti_torch_abi_version() {
  return uint64_t{TORCH_VERSION_MAJOR} << 56 | uint64_t{TORCH_VERSION_MINOR} << 48 | uint64_t{TORCH_VERSION_PATCH} << 40;
}

EXPORT const char* torch_exception_get_what_without_backtrace() { return words.c_str(); }

EXPORT int32_t torch_get_num_threads(uint32_t* n) {
  return guard([&] { *n = static_cast<uint32_t>(at::get_num_threads()); });
}

EXPORT void aoti_torch_grad_mode_set_enabled(bool on) { c10::GradMode::set_enabled(on); }

// Tensors.

EXPORT int32_t aoti_torch_delete_tensor_object(void* h) {
  return guard([&] { delete static_cast<at::Tensor*>(h); });
}

EXPORT int32_t aoti_torch_new_tensor_handle(void* h, void** out) {
  return guard([&] { *out = handle(tensor(h)); });
}

EXPORT int32_t aoti_torch_get_data_ptr(void* h, void** out) {
  return guard([&] { *out = tensor(h).data_ptr(); });
}

EXPORT int32_t aoti_torch_get_dim(void* h, int64_t* out) {
  return guard([&] { *out = tensor(h).dim(); });
}

EXPORT int32_t aoti_torch_get_sizes(void* h, int64_t** out) {
  return guard([&] { *out = const_cast<int64_t*>(tensor(h).sizes().data()); });
}

EXPORT int32_t aoti_torch_get_strides(void* h, int64_t** out) {
  return guard([&] { *out = const_cast<int64_t*>(tensor(h).strides().data()); });
}

EXPORT int32_t aoti_torch_get_dtype(void* h, int32_t* out) {
  return guard([&] { *out = static_cast<int32_t>(tensor(h).scalar_type()); });
}

namespace {

at::TensorOptions options(int32_t dtype, int32_t kind, int32_t index) {
  c10::Device on(static_cast<c10::DeviceType>(kind), static_cast<c10::DeviceIndex>(kind == 0 ? -1 : index));
  return at::TensorOptions().device(on).dtype(static_cast<at::ScalarType>(dtype));
}

at::IntArrayRef ints(const int64_t* p, int64_t n) { return at::IntArrayRef(p, static_cast<size_t>(n)); }

at::Tensor over(void* data, int64_t n, const int64_t* sizes, const int64_t* strides, int64_t offset, const at::TensorOptions& o,
                std::function<void(void*)> deleter) {
  at::Tensor t = at::from_blob(data, ints(sizes, n), ints(strides, n), deleter, o);
  return offset == 0 ? t : t.as_strided(ints(sizes, n), ints(strides, n), offset);
}

}  // namespace

EXPORT int32_t aoti_torch_empty_strided(int64_t n, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t kind, int32_t index,
                                        void** out) {
  return guard([&] { *out = handle(at::empty_strided(ints(sizes, n), ints(strides, n), options(dtype, kind, index))); });
}

EXPORT int32_t aoti_torch__reinterpret_tensor(void* h, int64_t n, const int64_t* sizes, const int64_t* strides, int64_t offset, void** out) {
  return guard([&] {
    const at::Tensor& t = tensor(h);
    *out = handle(t.as_strided(ints(sizes, n), ints(strides, n), t.storage_offset() + offset));
  });
}

EXPORT int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t n, const int64_t* sizes, const int64_t* strides, int64_t offset,
                                                  int32_t dtype, int32_t kind, int32_t index, void** out) {
  return guard([&] { *out = handle(over(data, n, sizes, strides, offset, options(dtype, kind, index), [](void*) {})); });
}

EXPORT int32_t torch_from_blob(void* data, int64_t n, const int64_t* sizes, const int64_t* strides, int64_t offset, int32_t dtype,
                               int32_t kind, int32_t index, void** out, int32_t, const uint8_t*, int64_t, void (*deleter)(void*, void*),
                               void* context) {
  return guard([&] {
    *out = handle(over(data, n, sizes, strides, offset, options(dtype, kind, index), [=](void* p) { deleter(p, context); }));
  });
}

EXPORT int32_t aoti_torch_copy_(void* h, void* src, int32_t non_blocking) {
  return guard([&] { tensor(h).copy_(tensor(src), non_blocking != 0); });
}

// Values.

EXPORT int32_t torch_new_stable_ivalue(Value** out) {
  return guard([&] { *out = new Value{0}; });
}

EXPORT int32_t torch_new_list_reserve_size(size_t n, Values** out) {
  return guard([&] {
    *out = new Values;
    (*out)->reserve(n);
  });
}

EXPORT int32_t torch_list_push_back(Values* l, Value v) {
  return guard([&] { l->push_back(v); });
}

EXPORT int32_t torch_list_get_item(Values* l, size_t i, Value* out) {
  return guard([&] { *out = l->at(i); });
}

EXPORT int32_t torch_delete_list(Values* l) {
  return guard([&] { delete l; });
}

EXPORT int32_t torch_new_string_handle(const char* data, size_t n, std::string** out) {
  return guard([&] { *out = new std::string(data, n); });
}

EXPORT int32_t torch_delete_string(std::string* s) {
  return guard([&] { delete s; });
}

// Operators.

EXPORT int32_t torch_call_dispatcher(const char* name, const char* overload, Value* values, uint64_t) {
  return guard([&] {
    auto op = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!op) throw std::runtime_error(std::string("there is no operator ") + name + (*overload ? "." : "") + overload);
    const c10::FunctionSchema& schema = op->schema();
    torch::jit::Stack stack;
    stack.reserve(schema.arguments().size());
    std::string failed;
    size_t i = 0;
    for (const c10::Argument& a : schema.arguments()) {  // to the last, as all of them are given up
      try {
        stack.push_back(argument(a.type(), values[i++]));
      } catch (const std::exception& e) {
        failed = e.what();
      }
    }
    if (!failed.empty()) throw std::runtime_error(failed);
    op->callBoxed(stack);
    for (size_t k = 0; k < stack.size(); k++) values[k] = result(stack[k]);
  });
}

EXPORT int32_t aoti_torch_cpu_add_Tensor(void* a, void* b, double alpha, void** out) {
  return guard([&] { *out = handle(at::add(tensor(a), tensor(b), scalar(alpha, tensor(a), tensor(b)))); });
}

EXPORT int32_t aoti_torch_cpu_convolution(void* x, void* weight, void** bias, const int64_t* strides, int64_t n, const int64_t* padding,
                                          int64_t np, const int64_t* dilation, int64_t nd, int32_t transposed, const int64_t* output_padding,
                                          int64_t no, int64_t groups, void** out) {
  return guard([&] {
    c10::optional<at::Tensor> b;
    if (bias != nullptr) b = tensor(*bias);
    *out = handle(at::convolution(tensor(x), tensor(weight), b, ints(strides, n), ints(padding, np), ints(dilation, nd), transposed != 0,
                                  ints(output_padding, no), groups));
  });
}

EXPORT int32_t aoti_torch_scatter_reduce_out(void* out, void* self, int64_t dim, void* index, void* src, const char* reduce, int32_t include) {
  return guard([&] { at::scatter_reduce_out(tensor(out), tensor(self), dim, tensor(index), tensor(src), reduce, include != 0); });
}
