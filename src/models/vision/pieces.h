// What goes around the rows of a picture or sound in a prompt, by kind: the special tokens that its
// text model was trained with, which no file says.
#pragma once

#include <vector>

#include "models/vision/projector.h"

namespace puna::models {

std::vector<MediaPiece> gemma3_pieces(const MediaShape& shape);
std::vector<MediaPiece> gemma4_audio_pieces(const MediaShape& shape);
std::vector<MediaPiece> gemma4_pieces(const MediaShape& shape);
std::vector<MediaPiece> idefics3_pieces(const MediaShape& shape);
std::vector<MediaPiece> internvl_pieces(const MediaShape& shape);
std::vector<MediaPiece> llava_pieces(const MediaShape& shape);
std::vector<MediaPiece> pixtral_pieces(const MediaShape& shape);
std::vector<MediaPiece> qwen_audio_pieces(const MediaShape& shape);
std::vector<MediaPiece> qwen_omni_pieces(const MediaShape& shape);
std::vector<MediaPiece> qwen_pieces(const MediaShape& shape);
std::vector<MediaPiece> ultravox_pieces(const MediaShape& shape);
std::vector<MediaPiece> voxtral_pieces(const MediaShape& shape);

}  // namespace puna::models
