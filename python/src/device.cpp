// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// GPUs for Python: which there are, memory on them where no framework gives any, and dense matrices by address.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "tulle/memory.hpp"

namespace tulle::python {
namespace {

nb::list gpus()
{
    nb::list all;
    for (const GpuInfo& gpu : cuda_devices()) {
        nb::dict d;
        d["name"] = gpu.name, d["device"] = gpu.device, d["compute"] = concat(gpu.major, ".", gpu.minor);
        d["bytes"] = gpu.bytes, d["simulated"] = gpu.simulated;
        all.append(d);
    }
    return all;
}

// Bytes on a GPU, for callers whose arrays come from no framework that could make more.
class DeviceBytes {
public:
    DeviceBytes(Place& place, offset_t bytes)
        : ctx_(place.get()),
          data_(ctx_.run([&](const auto& q) { return Buffer<char>(q, bytes); }))
    {}

    Address address() const { return reinterpret_cast<Address>(data_.data()); }
    void upload(const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& from)
    {
        require_size(from.size());
        const nb::gil_scoped_release free;
        ctx_.run([&](const auto& q) { upload_bytes(q, from.data(), data_.data(), from.size()); });
    }
    void download(const nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& to) const
    {
        require_size(to.size());
        const nb::gil_scoped_release free;
        ctx_.run([&](const auto& q) { download_bytes(q, data_.data(), to.data(), to.size()); });
    }

private:
    void require_size(std::size_t bytes) const
    {
        require(bytes == data_.bytes(),
                [&] { return concat("there are ", data_.bytes(), " bytes on the GPU, not ", bytes); });
    }

    Context ctx_;
    Buffer<char> data_;
};

}  // namespace

void bind_device(nb::module_& m)
{
    m.def("gpus", &gpus);
    m.def("why_no_gpu", &why_no_cuda);
    nb::class_<DeviceBytes>(m, "DeviceBytes")
        .def(nb::init<Place&, offset_t>(), "context"_a, "bytes"_a)
        .def_prop_ro("address", &DeviceBytes::address)
        .def("upload", &DeviceBytes::upload, "source"_a.noconvert())
        .def("download", &DeviceBytes::download, "target"_a.noconvert());
    nb::class_<DenseAt>(m, "DenseAt")
        .def(
            "__init__",
            [](DenseAt* self, Address address, offset_t rows, offset_t cols, offset_t row_stride, offset_t col_stride) {
                new (self) DenseAt{address, {rows, cols, row_stride, col_stride}};
            },
            "address"_a, "rows"_a, "cols"_a, "row_stride"_a, "col_stride"_a);
}

}  // namespace tulle::python
