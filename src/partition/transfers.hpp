// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the members of a team, and the host, send each other: copied here and counted here, so that nobody moves a byte
// unseen.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "device/strided_copy.hpp"
#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Copies go where they are told in the order of the receiver's queue. For use by several threads at once.
class TULLE_API Transfers {
public:
    template <class T>
    void up(const Context& to, const T* host, T* there, offset_t n)
    {
        if (count(up_, n, sizeof(T))) to.run([&](const auto& q) { tulle::upload(q, host, there, n); });
    }

    template <class T>
    void down(const Context& from, const T* there, T* host, offset_t n)
    {
        if (count(down_, n, sizeof(T))) from.run([&](const auto& q) { tulle::download(q, there, host, n); });
    }

    // Dense matrices of the same shape and layout, with whatever leading dimensions.
    template <class T>
    void up(const Context& to, const std::type_identity_t<DenseView<const T>>& host, const DenseView<T>& there)
    {
        if (count(up_, offset_t{there.rows} * there.cols, sizeof(T)))
            to.run([&](const auto& q) { upload_lines(q, host.data, there.data, lines_of(host, there)); });
    }

    template <class T>
    void down(const Context& from, const std::type_identity_t<DenseView<const T>>& there, const DenseView<T>& host)
    {
        if (count(down_, offset_t{host.rows} * host.cols, sizeof(T)))
            from.run([&](const auto& q) { download_lines(q, there.data, host.data, lines_of(there, host)); });
    }

    template <class T>
    void across(const Context& from, const std::type_identity_t<DenseView<const T>>& source, const Context& to,
                const DenseView<T>& target)
    {
        if (count(across_, offset_t{target.rows} * target.cols, sizeof(T)))
            copy_lines_between(from, source.data, to, target.data, lines_of(source, target));
    }

    // The receiver must have been told to wait for the sender's signal.
    template <class T>
    void across(const Context& from, const T* source, const Context& to, T* target, offset_t n)
    {
        if (count(across_, n, sizeof(T)))
            copy_between(from, source, to, target, static_cast<std::size_t>(n) * sizeof(T));
    }

    Traffic traffic() const { return {up_, down_, across_, copies_}; }
    void reset();

private:
    static void copy_between(const Context& from, const void* source, const Context& to, void* target,
                             std::size_t bytes);
    static void copy_lines_between(const Context& from, const void* source, const Context& to, void* target,
                                   const LineShape& shape);

    template <class T>
    static LineShape lines_of(const DenseView<const T>& from, const DenseView<T>& to)
    {
        const bool by_rows = to.layout == Layout::row_major;
        const auto bytes = [](offset_t n) { return static_cast<std::size_t>(n) * sizeof(T); };
        return {bytes(by_rows ? to.cols : to.rows), static_cast<std::size_t>(by_rows ? to.rows : to.cols),
                bytes(from.leading), bytes(to.leading)};
    }

    bool count(std::atomic<std::size_t>& bytes, offset_t n, std::size_t size)
    {
        if (n == 0) return false;
        bytes += static_cast<std::size_t>(n) * size;
        ++copies_;
        return true;
    }

    std::atomic<std::size_t> up_ = 0, down_ = 0, across_ = 0;
    std::atomic<std::int64_t> copies_ = 0;
};

namespace cuda {  // defined by the CUDA backend

void copy_between(const CudaQueue& from, const void* source, const CudaQueue& to, void* target, std::size_t bytes);

}  // namespace cuda
}  // namespace tulle::inline TULLE_ABI::partition
