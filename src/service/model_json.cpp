#include "service/model_json.h"

#include <concepts>
#include <string>
#include <utility>

#include "service/model_card.h"

namespace puna::service {

using base::Json;

namespace {

constexpr size_t kShortList = 5;

template <class T>
concept List = requires(const T& v) {
  typename T::value_type;
  v.size();
} && !std::same_as<T, std::string>;

Json value_json(const formats::Value& value, bool verbose) {
  return std::visit(
      [&]<class T>(const T& v) -> Json {
        if constexpr (std::same_as<T, formats::ListOfLists>) {
          if (!verbose) return nullptr;
          Json out = Json::array();
          for (const formats::Value& list : v.lists) out.push(value_json(list, verbose));
          return out;
        } else if constexpr (List<T>) {
          if (!verbose && v.size() > kShortList) return nullptr;
          Json out = Json::array();
          for (const auto& item : v) out.push(Json(static_cast<typename T::value_type>(item)));
          return out;
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

Json metadata_json(const formats::ModelFile& file, bool all) {
  Json out = Json::object();
  for (const auto& [key, value] : file.metadata) out.set(key, value_json(value, all));
  return out.set("general.parameter_count", n_parameters(file));
}

Json tensors_json(const formats::ModelFile& file) {
  Json out = Json::array();
  for (const formats::Tensor& tensor : file.tensors) {
    Json shape = Json::array();
    for (const uint64_t n : tensor.shape) shape.push(n);
    Json one = Json::object().set("name", tensor.name).set("type", tensor.type_name());
    out.push(one.set("shape", std::move(shape)));
  }
  return out;
}

}  // namespace puna::service
