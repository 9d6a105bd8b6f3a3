// What a store keeps of a model beside its weights: what its Modelfile said, by layer.
#pragma once

#include "base/result.h"
#include "store/manifest.h"
#include "store/modelfile.h"
#include "store/places/places.h"

namespace puna::store {

// The manifest of a model that lies in ollama's layout. Errors: kNotFound for one that does not;
// kCorrupt, kIo.
base::Result<Manifest> manifest_of(const StoredModel& model);

// Its parts; of a model without a manifest name and paths alone. Errors: kNotFound for a layer that
// is missing; kCorrupt for one larger than a text of a model is; kIo.
base::Result<ModelParts> parts_of(const StoredModel& model);

}  // namespace puna::store
