// Result<T>: a value or an Error. PUNA_TRY hands an error on to the caller; PUNA_CO_TRY does so
// inside a coroutine.
//
//   PUNA_TRY(auto file, open(path));          // declares `file`, returns the error otherwise
//   PUNA_TRY(check(header));                  // no value wanted
//   PUNA_TRY_CONTEXT(auto file, open(path), fmt::format("While loading {}", path));
//
// The macros declare in the enclosing scope, so they are statements, never the body of an unbraced
// `if`.
#pragma once

#include <expected>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace puna::base {

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message), {}});
}

namespace detail {
[[nodiscard]] inline std::unexpected<Error> pass(Error&& error) {
  return std::unexpected(std::move(error));
}
[[nodiscard]] inline std::unexpected<Error> pass(Error&& error, std::string context) {
  error.context.push_back(std::move(context));
  return std::unexpected(std::move(error));
}
}  // namespace detail

}  // namespace puna::base

#define PUNA_CONCAT_(a, b) a##b
#define PUNA_CONCAT(a, b) PUNA_CONCAT_(a, b)
#define PUNA_TRY_IMPL_(ret, tmp, decl, expr)                \
  auto tmp = (expr);                                        \
  if (!tmp) [[unlikely]]                                    \
    ret ::puna::base::detail::pass(std::move(tmp.error())); \
  decl = *std::move(tmp)
#define PUNA_TRY_VOID_IMPL_(ret, expr)                  \
  if (auto puna_try_ = (expr); !puna_try_) [[unlikely]] \
  ret ::puna::base::detail::pass(std::move(puna_try_.error()))
#define PUNA_TRY_1_(expr) PUNA_TRY_VOID_IMPL_(return, expr)
#define PUNA_TRY_2_(decl, expr) PUNA_TRY_IMPL_(return, PUNA_CONCAT(puna_try_, __LINE__), decl, expr)
#define PUNA_CO_TRY_1_(expr) PUNA_TRY_VOID_IMPL_(co_return, expr)
#define PUNA_CO_TRY_2_(decl, expr) \
  PUNA_TRY_IMPL_(co_return, PUNA_CONCAT(puna_try_, __LINE__), decl, expr)
#define PUNA_PICK_2_(a, b, name, ...) name

#define PUNA_TRY(...) PUNA_PICK_2_(__VA_ARGS__, PUNA_TRY_2_, PUNA_TRY_1_)(__VA_ARGS__)
#define PUNA_CO_TRY(...) PUNA_PICK_2_(__VA_ARGS__, PUNA_CO_TRY_2_, PUNA_CO_TRY_1_)(__VA_ARGS__)

#define PUNA_TRY_CONTEXT_IMPL_(ret, tmp, decl, expr, why)          \
  auto tmp = (expr);                                               \
  if (!tmp) [[unlikely]]                                           \
    ret ::puna::base::detail::pass(std::move(tmp.error()), (why)); \
  decl = *std::move(tmp)
#define PUNA_TRY_CONTEXT_2_(expr, why)                  \
  if (auto puna_try_ = (expr); !puna_try_) [[unlikely]] \
  return ::puna::base::detail::pass(std::move(puna_try_.error()), (why))
#define PUNA_TRY_CONTEXT_3_(decl, expr, why) \
  PUNA_TRY_CONTEXT_IMPL_(return, PUNA_CONCAT(puna_try_, __LINE__), decl, expr, why)
#define PUNA_CO_TRY_CONTEXT_2_(expr, why)               \
  if (auto puna_try_ = (expr); !puna_try_) [[unlikely]] \
  co_return ::puna::base::detail::pass(std::move(puna_try_.error()), (why))
#define PUNA_CO_TRY_CONTEXT_3_(decl, expr, why) \
  PUNA_TRY_CONTEXT_IMPL_(co_return, PUNA_CONCAT(puna_try_, __LINE__), decl, expr, why)
#define PUNA_PICK_3_(a, b, c, name, ...) name
#define PUNA_TRY_CONTEXT(...) \
  PUNA_PICK_3_(__VA_ARGS__, PUNA_TRY_CONTEXT_3_, PUNA_TRY_CONTEXT_2_)(__VA_ARGS__)
#define PUNA_CO_TRY_CONTEXT(...) \
  PUNA_PICK_3_(__VA_ARGS__, PUNA_CO_TRY_CONTEXT_3_, PUNA_CO_TRY_CONTEXT_2_)(__VA_ARGS__)
