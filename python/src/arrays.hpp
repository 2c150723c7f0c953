// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What Python hands over: contexts, and the arrays of sparse and dense matrices. Nothing is copied here; the Python
// side (tulle/_arrays.py) has brought numbers, order of bytes and strides into a form the library reads. All pointers
// come from arrays that are kept alive by whoever keeps these objects. Arrays on a GPU come as addresses, sizes and
// strides (tulle/_frameworks.py): asking for DLPack would wait for another stream.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/float16.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

template <>
struct nanobind::detail::dtype_traits<tulle::Bfloat16> {
    static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::Bfloat), 16, 1};
    static constexpr auto name = const_name("bfloat16");
};

template <>
struct nanobind::detail::dtype_traits<tulle::Float16> {
    static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::Float), 16, 1};
    static constexpr auto name = const_name("float16");
};

namespace tulle::python {

namespace nb = nanobind;
using namespace nb::literals;

// A process made by fork() has none of the threads that OpenMP believes to have. Each such process has another number.
int fork_generation();

// A plan from before a fork.
class Forked : public Error {
public:
    using Error::Error;
};

// Text that may have any bytes, as names of files do: those that are no UTF-8 come back through os.fsencode().
nb::object text_of(const std::string& text);

// Raises KeyboardInterrupt where the user has pressed Ctrl-C; called without Python's lock, which is taken for a
// moment.
void stop_on_interrupt();

// Where an array begins, or a stream, as Python knows it.
using Address = std::uintptr_t;
inline CUstream_st* stream_at(Address a) { return reinterpret_cast<CUstream_st*>(a); }

// A Context of the library. On the CPU, after a fork, it becomes one with a single thread; on a GPU it works on the
// default stream, on one of the caller's, or on one of its own.
class Place {
public:
    Place(int threads, bool deterministic, std::size_t budget);
    // On a GPU: a stream of the caller's, for what is done when the call returns.
    Place(int device, Address stream, bool deterministic, std::size_t budget);
    // The same on a new stream, for plans: the caller's may be destroyed before them. It lives as long as anything made
    // here. Its work begins after what is queued on `after`.
    Place(const Place& like, Address after);
    const Context& get();
    bool on_gpu() const { return device_ >= 0; }
    int device() const { return device_; }
    Address stream() const { return stream_; }

private:
    Context make(int threads) const;

    int device_ = -1;
    Address stream_ = 0;

    int threads_;
    bool deterministic_;
    std::size_t budget_;
    int generation_ = fork_generation();
    std::mutex mutex_;
    Context ctx_;
};

// One-dimensional and contiguous; read-only ones are welcome where nothing is written. What nanobind takes from Python
// is on the host.
using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;
using HostArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
inline Array any_place(const HostArray& a) { return Array(a.handle()); }
template <class V>
using Input = nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class V>
using Output = nb::ndarray<V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class V>
using DenseInput = nb::ndarray<const V, nb::ndim<2>, nb::device::cpu>;
template <class V>
using DenseOutput = nb::ndarray<V, nb::ndim<2>, nb::device::cpu>;

// TypeError, so that the Python side makes an aligned copy.
void require_aligned(const void* data, std::size_t bytes);

template <class Nd>
auto span_of(const Nd& a)
{
    using T = typename Nd::Scalar;
    require_aligned(a.data(), sizeof(T));
    return std::span<T>(a.data(), a.size());
}

// TypeError where an output lies over an input, so that the Python side computes beside it.
void require_apart(const void* in, std::size_t in_bytes, const void* out, std::size_t out_bytes);

template <class T, class U>
void require_apart(std::span<T> in, std::span<U> out)
{
    require_apart(in.data(), in.size_bytes(), out.data(), out.size_bytes());
}

template <class T, class U>
void require_apart(const DenseView<T>& in, const DenseView<U>& out)
{
    const auto bytes = [](const auto& a) {
        return static_cast<std::size_t>(matrix::count_reach(a.rows, a.cols, a.leading, a.layout, sizeof(*a.data))) *
               sizeof(*a.data);
    };
    require_apart(in.data, bytes(in), out.data, bytes(out));
}

// Rows or columns contiguous, else TypeError: the Python side copies.
struct Strided {
    offset_t rows, cols, row_stride, col_stride;
};
std::pair<Layout, offset_t> layout_of(const Strided& a);
index_t to_index(offset_t n, const char* what);
// An argument that counts something; ValueError where it is negative or no index.
index_t to_count(offset_t n, const char* name);

template <class Nd>
auto dense_of(const Nd& a)
{
    using T = typename Nd::Scalar;
    require_aligned(a.data(), sizeof(T));
    const Strided s{static_cast<offset_t>(a.shape(0)), static_cast<offset_t>(a.shape(1)), a.stride(0), a.stride(1)};
    const auto [layout, leading] = layout_of(s);
    return DenseView<T>{to_index(s.rows, "rows"), to_index(s.cols, "columns"), leading, layout, a.data()};
}

template <class T>
std::span<T> span_at(Address a, offset_t size)
{
    return {reinterpret_cast<T*>(a), static_cast<std::size_t>(size)};
}

// A dense matrix by its address; strides in entries.
struct DenseAt {
    Address address;
    Strided form;
};

template <class T>
DenseView<T> dense_at(const DenseAt& a)
{
    const auto [layout, leading] = layout_of(a.form);
    return {to_index(a.form.rows, "rows"), to_index(a.form.cols, "columns"), leading, layout,
            reinterpret_cast<T*>(a.address)};
}

// An array by its address, which `owner` keeps; `type` is "f64", "f32", "f16", "bf16", "i64" or "i32".
Array array_at(Address a, offset_t size, const std::string& type, int device, nb::handle owner);

// The arrays of a CSR or CSC matrix, looked through once: offsets and indices are sound, and it is known whether rows
// are sorted and without repeats (unsorted ones are not searched for repeats: they count as having some).
class Compressed {
public:
    Compressed(Place& place, bool by_column, offset_t rows, offset_t cols, Array indptr, Array indices, Array value,
               bool check);

    // The same by addresses. On a GPU, offsets of 32 bits are widened here.
    static Compressed at(Place& place, bool by_column, offset_t rows, offset_t cols, offset_t nonzeros, Address indptr,
                         const std::string& offsets, Address indices, Address value, const std::string& type,
                         nb::handle owner, bool check);

    // The same pattern with other values.
    Compressed with_values(Array value) const;
    Compressed with_values_at(Address value, offset_t size, nb::handle owner) const;

    template <class V>
    AnyCsr<V> as_rows() const;  // the arrays read as CSR: of A, or of A transposed if it is stored by columns
    template <class Any, class V>
    Any stored() const;  // as it is: a view of CSR or CSC

    bool by_column;
    index_t rows, cols;
    bool sorted = false, unique = false;
    offset_t nonzeros() const { return static_cast<offset_t>(indices.size()); }
    bool narrow() const { return indptr.dtype() == nb::dtype<std::int32_t>(); }
    index_t lines() const { return by_column ? cols : rows; }

    Array indptr, indices, value;

private:
    void look(const Context& ctx);
    void look_on_gpu(const Context& ctx);

    std::shared_ptr<Buffer<offset_t>> wide_;  // offsets that were widened
};

template <class V>
AnyCsr<V> Compressed::as_rows() const
{
    const index_t others = by_column ? rows : cols;
    const auto* col = static_cast<const index_t*>(indices.data());
    const auto* number = static_cast<const V*>(value.data());
    if (value.dtype() != nb::dtype<V>())
        throw nb::type_error("the values of the matrix have another type than the operation");
    if (narrow())
        return Csr32View<V>{lines(), others, nonzeros(), static_cast<const std::int32_t*>(indptr.data()),
                            col,     number, sorted,     unique};
    return CsrView<V>{lines(), others, nonzeros(), static_cast<const offset_t*>(indptr.data()),
                      col,     number, sorted,     unique};
}

template <class Any, class V>
Any Compressed::stored() const
{
    return std::visit(
        [&](const auto& a) -> Any {
            if (by_column) return transposed(a);
            return a;
        },
        as_rows<V>());
}

// A result's array, handed to NumPy with its memory.
template <class T>
nb::object to_python(Buffer<T>&& buffer)
{
    auto* owner = new Buffer<T>(std::move(buffer));
    const nb::capsule keeper(owner, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, T, nb::ndim<1>>(owner->data(), {static_cast<std::size_t>(owner->size())}, keeper));
}

template <class V>
nb::tuple to_python(Csr<V>&& c)
{
    return nb::make_tuple(to_python(std::move(c.row_begin)), to_python(std::move(c.col)),
                          to_python(std::move(c.value)));
}

// What all plans have beside the library's: a lock, the process they were made in, and on a GPU their stream.
class PlanGuard {
public:
    explicit PlanGuard(Place& place) : ctx_(place.get()), stream_(place.stream()) {}

    // Where the caller works on another stream, that one's work comes before, and goes on after.
    template <class F>
    void run_on(Address stream, F&& f)
    {
        run([&] {
            if (stream == stream_) return f();
            ctx_.start_after(stream_at(stream));
            try {
                f();
            } catch (...) {
                ctx_.finish_before(stream_at(stream));  // a stream that is captured must come back to the caller's
                throw;
            }
            ctx_.finish_before(stream_at(stream));
        });
    }

    const Context& context() const { return ctx_; }
    Address stream() const { return stream_; }

    // Runs f without Python's lock and with the plan's own.
    template <class F>
    decltype(auto) run(F&& f)
    {
        if (generation_ != fork_generation())
            throw Forked("this plan was made before the process forked, and its threads are gone",
                         "make the plan in the new process");
        const nb::gil_scoped_release free;
        const std::lock_guard lock(mutex_);
        return f();
    }

private:
    Context ctx_;
    Address stream_;
    int generation_ = fork_generation();
    std::mutex mutex_;
};

// The candidate a user names: by its whole text ("rows, 8 lanes") or by its kernel ("rows"). ValueError lists what
// there is.
template <class Policy, class Name>
Policy find_policy(const std::vector<Policy>& candidates, const std::string& wanted, const Name& kernel)
{
    std::string all;
    for (const Policy& p : candidates)
        if (to_text(p) == wanted) return p;
    for (const Policy& p : candidates) {
        if (kernel(p) == wanted) return p;
        all += concat(all.empty() ? "'" : ", '", to_text(p), "'");
    }
    throw ValueError(concat("there is no policy '", wanted, "' for this matrix"), concat("there are ", all));
}

void bind_arrays(nb::module_& m);
void bind_errors();
void bind_spmv(nb::module_& m);
void bind_spmm(nb::module_& m);
void bind_spgemm(nb::module_& m);
void bind_sptrsv(nb::module_& m);
void bind_sddmm(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_device(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_files(nb::module_& m);

// What every plan of one matrix has in Python: new values for it, and what the plan says of itself.
template <class P>
nb::class_<P>& bind_common(nb::class_<P>& plan)
{
    return plan.def("update_values", &P::update_values, "data"_a.noconvert())
        .def("update_values_at", &P::update_values_at, "data"_a, "size"_a, "owner"_a, "stream"_a)
        .def_prop_ro("policy", &P::policy)
        .def("describe", &P::describe)
        .def_prop_ro("nbytes", &P::bytes);
}

}  // namespace tulle::python
