// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include <algorithm>

#include "tulle/validate.hpp"

namespace tulle::python {
namespace {

std::atomic<int> generation = 0;
const int watching = pthread_atfork(nullptr, nullptr, [] { ++generation; });

// What a look through offsets and indices tells. `sound` is false as soon as anything would lead outside the arrays.
struct Look {
    bool sound = true, sorted = true, unique = true;
};

template <class Offset>
bool offsets_are_sound(const CpuQueue& q, const Offset* begin, index_t lines, offset_t nonzeros)
{
    if (begin[0] != 0 || begin[lines] != nonzeros) return false;
    bool falls = false;
#pragma omp parallel for num_threads(threads_for(q, lines)) schedule(static) reduction(|| : falls)
    for (index_t i = 0; i < lines; ++i) falls = falls || begin[i + 1] < begin[i];
    return !falls;
}

// Neighbours in the array of indices: the largest index, and how often one is smaller than, or the same as, the one
// before.
struct Neighbours {
    std::uint32_t most = 0;
    offset_t falls = 0, repeats = 0;
};

// Of the indices first … last-1, which are few enough for counts of 32 bits, which vectors of indices have too.
[[gnu::always_inline]] inline Neighbours look_at_some(const index_t* index, offset_t first, offset_t last)
{
    std::uint32_t top = static_cast<std::uint32_t>(index[first]), down = 0, same = 0;
    for (offset_t k = std::max<offset_t>(first, 1); k < last; ++k) {
        top = std::max(top, static_cast<std::uint32_t>(index[k]));
        down += index[k] < index[k - 1] ? 1u : 0u;
        same += index[k] == index[k - 1] ? 1u : 0u;
    }
    return {top, down, same};
}

Neighbours look_plain(const index_t* index, offset_t first, offset_t last) { return look_at_some(index, first, last); }

#if defined(__x86_64__)

// Without SSE4.1 a comparison of unsigned integers takes several instructions.
[[gnu::target("avx2")]] Neighbours look_avx2(const index_t* index, offset_t first, offset_t last)
{
    return look_at_some(index, first, last);
}

const auto look_at_piece = __builtin_cpu_supports("avx2") ? &look_avx2 : &look_plain;

#else

constexpr auto look_at_piece = &look_plain;

#endif

Neighbours look_at_neighbours(const CpuQueue& q, const index_t* index, offset_t nonzeros)
{
    constexpr offset_t piece = 4096;
    std::uint32_t most = 0;
    offset_t falls = 0, repeats = 0;
    const int threads = threads_for(q, nonzeros);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : most) reduction(+ : falls, repeats)
    for (offset_t first = 0; first < nonzeros; first += piece) {
        const Neighbours some = look_at_piece(index, first, std::min(nonzeros, first + piece));
        most = std::max(most, some.most), falls += some.falls, repeats += some.repeats;
    }
    return {most, falls, repeats};
}

// The same between rows, where the last index of a row stands before the first of the next: what is left of all falls
// and repeats is inside rows.
template <class Offset>
Look look_at(const CpuQueue& q, const Offset* begin, index_t lines, const index_t* index, offset_t nonzeros,
             index_t others)
{
    if (!offsets_are_sound(q, begin, lines, nonzeros)) return {.sound = false};
    const Neighbours all = look_at_neighbours(q, index, nonzeros);
    if (nonzeros > 0 && all.most >= static_cast<std::uint32_t>(others)) return {.sound = false};
    offset_t falls = 0, repeats = 0;
#pragma omp parallel for num_threads(threads_for(q, lines)) schedule(static) reduction(+ : falls, repeats)
    for (index_t i = 0; i < lines; ++i) {
        const Offset k = begin[i];
        if (k == 0 || k == begin[i + 1]) continue;
        falls += index[k] < index[k - 1] ? 1 : 0;
        repeats += index[k] == index[k - 1] ? 1 : 0;
    }
    const bool sorted = all.falls == falls;
    return {true, sorted, sorted && all.repeats == repeats};
}

std::size_t bytes_of(nb::dlpack::dtype type) { return type.bits / 8u; }

nb::dlpack::dtype type_named(const std::string& name)
{
    if (name == "f64") return nb::dtype<double>();
    if (name == "f32") return nb::dtype<float>();
    if (name == "f16") return nb::dtype<Float16>();
    if (name == "bf16") return nb::dtype<Bfloat16>();
    if (name == "i64") return nb::dtype<offset_t>();
    if (name == "i32") return nb::dtype<std::int32_t>();
    throw nb::type_error("no such type of numbers");
}

Address stream_of(const Context& ctx)
{
    return ctx.run([](const auto& q) {
        if constexpr (requires { q.stream; }) return reinterpret_cast<Address>(q.stream);
        return Address{0};
    });
}

}  // namespace

nb::object text_of(const std::string& text)
{
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

void stop_on_interrupt()
{
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

int fork_generation() { return generation.load(std::memory_order_relaxed); }

Place::Place(int threads, bool deterministic, std::size_t budget)
    : threads_(threads),
      deterministic_(deterministic),
      budget_(budget),
      ctx_(make(generation_ > 0 ? 1 : threads))
{}

Place::Place(int device, Address stream, bool deterministic, std::size_t budget)
    : device_(device),
      stream_(stream),
      threads_(0),
      deterministic_(deterministic),
      budget_(budget),
      ctx_(Context::cuda(device, stream_at(stream)))
{
    ctx_.budget(budget_).deterministic(deterministic_);
}

Place::Place(const Place& like, Address after)
    : device_(like.device_),
      threads_(0),
      deterministic_(like.deterministic_),
      budget_(like.budget_),
      ctx_(Context::cuda(device_))
{
    stream_ = stream_of(ctx_);
    ctx_.budget(budget_).deterministic(deterministic_);
    ctx_.start_after(stream_at(after));
}

Context Place::make(int threads) const
{
    Context ctx = Context::cpu(threads);
    ctx.budget(budget_).deterministic(deterministic_);
    return ctx;
}

const Context& Place::get()
{
    if (generation_ != fork_generation()) {
        if (on_gpu())
            throw DeviceError("the process was forked, and CUDA does not work in the new one",
                              "start processes with multiprocessing's \"spawn\"");
        const std::lock_guard lock(mutex_);
        ctx_ = make(1);
        generation_ = fork_generation();
    }
    return ctx_;
}

void require_aligned(const void* data, std::size_t bytes)
{
    if (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) throw nb::type_error("the array is not aligned");
}

void require_apart(const void* in, std::size_t in_bytes, const void* out, std::size_t out_bytes)
{
    const auto a = reinterpret_cast<std::uintptr_t>(in), b = reinterpret_cast<std::uintptr_t>(out);
    if (a < b + out_bytes && b < a + in_bytes) throw nb::type_error("the output lies over the input");
}

index_t to_index(offset_t n, const char* what)
{
    require(n >= 0 && n <= max_index,
            [&] { return concat(n, " ", what, " are more than tulle's matrices can have (", max_index, ")"); });
    return static_cast<index_t>(n);
}

index_t to_count(offset_t n, const char* name)
{
    require<ValueError>(n >= 0 && n <= max_index,
                        [&] { return concat(name, " is ", n, ", and must be in 0 … ", max_index); });
    return static_cast<index_t>(n);
}

std::pair<Layout, offset_t> layout_of(const Strided& a)
{
    if (a.rows == 0 || a.cols == 0) return {Layout::row_major, a.cols};
    if (a.cols == 1 || a.col_stride == 1) {
        const offset_t leading = a.rows == 1 ? a.cols : a.row_stride;
        if (leading >= a.cols) return {Layout::row_major, leading};
    }
    if (a.rows == 1 || a.row_stride == 1) {
        const offset_t leading = a.cols == 1 ? a.rows : a.col_stride;
        if (leading >= a.rows) return {Layout::col_major, leading};
    }
    throw nb::type_error("neither the rows nor the columns of the array are contiguous");
}

Compressed::Compressed(Place& place, bool columns, offset_t row_count, offset_t col_count, Array offsets, Array numbers,
                       Array values, bool check)
    : by_column(columns),
      rows(to_index(row_count, "rows")),
      cols(to_index(col_count, "columns")),
      indptr(std::move(offsets)),
      indices(std::move(numbers)),
      value(std::move(values))
{
    if (!narrow() && indptr.dtype() != nb::dtype<offset_t>())
        throw nb::type_error("indptr must have integers of 32 or 64 bits");
    if (indices.dtype() != nb::dtype<index_t>()) throw nb::type_error("indices must have integers of 32 bits");
    for (const Array* a : {&indptr, &indices, &value})
        if (a->size() > 0) require_aligned(a->data(), std::max<std::size_t>(1, bytes_of(a->dtype())));
    require(indptr.size() == static_cast<std::size_t>(lines()) + 1, [&] {
        return concat("indptr has ", indptr.size(), " entries, but a matrix with ", lines(),
                      by_column ? " columns" : " rows", " needs ", offset_t{lines()} + 1);
    });
    require(indices.size() == value.size(),
            [&] { return concat("there are ", indices.size(), " indices, but ", value.size(), " values"); });
    if (check) {
        const Context& ctx = place.get();
        const nb::gil_scoped_release free;
        place.on_gpu() ? look_on_gpu(ctx) : look(ctx);
    }
}

Array array_at(Address a, offset_t size, const std::string& type, int device, nb::handle owner)
{
    const std::size_t shape[] = {static_cast<std::size_t>(size)};
    const bool on_gpu = device >= 0;
    return Array(reinterpret_cast<void*>(a), 1, shape, owner, nullptr, type_named(type),
                 on_gpu ? nb::device::cuda::value : nb::device::cpu::value, on_gpu ? device : 0);
}

Compressed Compressed::at(Place& place, bool by_column, offset_t rows, offset_t cols, offset_t nonzeros, Address indptr,
                          const std::string& offsets, Address indices, Address value, const std::string& type,
                          nb::handle owner, bool check)
{
    const index_t lines = to_index(by_column ? cols : rows, by_column ? "columns" : "rows");
    const offset_t entries = offset_t{lines} + 1;
    std::shared_ptr<Buffer<offset_t>> wide;
    std::string form = offsets;
    if (place.on_gpu() && offsets == "i32") {
        wide = place.get().run([&](const auto& q) {
            auto buffer = std::make_shared<Buffer<offset_t>>(q, entries);
            matrix::widen_offsets(q, reinterpret_cast<const std::int32_t*>(indptr), entries, buffer->data());
            return buffer;
        });
        indptr = reinterpret_cast<Address>(wide->data()), form = "i64";
    }
    const int device = place.device();
    Compressed c(place, by_column, rows, cols, array_at(indptr, entries, form, device, owner),
                 array_at(indices, nonzeros, "i32", device, owner), array_at(value, nonzeros, type, device, owner),
                 check);
    c.wide_ = std::move(wide);
    return c;
}

void Compressed::look_on_gpu(const Context& ctx)
{
    const CsrView<float> pattern{lines(),
                                 by_column ? rows : cols,
                                 nonzeros(),
                                 static_cast<const offset_t*>(indptr.data()),
                                 static_cast<const index_t*>(indices.data()),
                                 static_cast<const float*>(value.data()),
                                 false,
                                 false};
    const Findings found = validate_pattern(ctx, pattern);  // reads no values
    require<ValueError>(found.ok(), found.problem);
    sorted = found.sorted, unique = found.unique;
}

void Compressed::look(const Context& ctx)
{
    const auto* index = static_cast<const index_t*>(indices.data());
    const index_t others = by_column ? rows : cols;
    const CpuQueue q = ctx.host();
    const Look found =
        narrow() ? look_at(q, static_cast<const std::int32_t*>(indptr.data()), lines(), index, nonzeros(), others)
                 : look_at(q, static_cast<const offset_t*>(indptr.data()), lines(), index, nonzeros(), others);
    sorted = found.sorted, unique = found.unique;
    if (found.sound) return;
    sorted = unique = false;
    const Buffer<float> numbers(q, nonzeros());  // the sentence about a pattern is the library's; values play no part
    const CsrView<float> none{lines(), others, nonzeros(), nullptr, index, numbers.data(), false, false};
    const auto check_columns_too = [&](const auto& a) { by_column ? check(ctx, transposed(a)) : check(ctx, a); };
    if (narrow()) {
        check_columns_too(Csr32View<float>{lines(), others, nonzeros(), static_cast<const std::int32_t*>(indptr.data()),
                                           index, numbers.data(), false, false});
    } else {
        CsrView<float> wide = none;
        wide.row_begin = static_cast<const offset_t*>(indptr.data());
        check_columns_too(wide);
    }
    throw ValueError("the offsets or indices of the matrix changed while they were looked at");
}

Compressed Compressed::with_values(Array other) const
{
    require(other.size() == value.size(),
            [&] { return concat("the plan's matrix has ", value.size(), " values, not ", other.size()); });
    if (other.dtype() != value.dtype())
        throw nb::type_error("the new values have another type than those of the plan's matrix");
    require_aligned(other.data(), bytes_of(other.dtype()));
    Compressed next = *this;
    next.value = std::move(other);
    return next;
}

Compressed Compressed::with_values_at(Address other, offset_t size, nb::handle owner) const
{
    const bool on_gpu = value.device_type() != nb::device::cpu::value;
    const std::size_t shape[] = {static_cast<std::size_t>(size)};
    return with_values(Array(reinterpret_cast<void*>(other), 1, shape, owner, nullptr, value.dtype(),
                             value.device_type(), on_gpu ? value.device_id() : 0));
}

void bind_arrays(nb::module_& m)
{
    m.def("available_threads", &available_threads);
    nb::class_<Place>(m, "Context")
        .def(nb::init<int, bool, std::size_t>(), "threads"_a, "deterministic"_a, "budget"_a)
        .def(nb::init<int, Address, bool, std::size_t>(), "device"_a, "stream"_a, "deterministic"_a, "budget"_a)
        .def(
            "on_own_stream", [](const Place& p, Address after) { return new Place(p, after); }, "after"_a)
        .def(
            "finish_before", [](Place& p, Address stream) { p.get().finish_before(stream_at(stream)); }, "stream"_a)
        .def_prop_ro("stream", &Place::stream)
        .def("synchronize",
             [](Place& p) {
                 const Context& ctx = p.get();
                 const nb::gil_scoped_release free;
                 ctx.synchronize();
             })
        .def_prop_ro("name", [](Place& p) { return p.get().name(); })
        .def_prop_ro("allocations", [](Place& p) { return p.get().memory().allocations(); })
        .def_prop_ro("peak_bytes", [](Place& p) { return p.get().peak_bytes(); });
    nb::class_<Compressed>(m, "Compressed")
        .def(
            "__init__",
            [](Compressed* self, Place& place, bool by_column, offset_t rows, offset_t cols, const HostArray& indptr,
               const HostArray& indices, const HostArray& value, bool check) {
                new (self) Compressed(place, by_column, rows, cols, any_place(indptr), any_place(indices),
                                      any_place(value), check);
            },
            "context"_a, "by_column"_a, "rows"_a, "cols"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(),
            "data"_a.noconvert(), "check"_a)
        .def_static("at", &Compressed::at, "context"_a, "by_column"_a, "rows"_a, "cols"_a, "nonzeros"_a, "indptr"_a,
                    "offsets"_a, "indices"_a, "data"_a, "type"_a, "owner"_a, "check"_a)
        .def_rw("sorted", &Compressed::sorted)
        .def_rw("unique", &Compressed::unique);
    (void)watching;
}

}  // namespace tulle::python
