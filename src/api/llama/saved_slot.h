// What POST /slots/{id} does between two steps of the engine: the text of a slot is saved to a
// file, taken up from one, or forgotten (service/kept.h).
#pragma once

#include <memory>
#include <string>

#include "api/exchange.h"
#include "api/slot_table.h"

namespace puna::api::llama {

// A slot that was taken and is free when the job has ended, and a file.
struct SavedSlot {
  std::shared_ptr<SlotTable::Use> slot;
  std::string folder, filename;                // a plain name
  std::shared_ptr<service::Hosts> hosts = {};  // that are told who knows it now; null: nobody is
};

// {id_slot, filename, n_saved, n_written, timings}: as much of the slot's text as the cache still
// knows. The file appears when it is complete. Errors: kInvalidArgument where
// something else has the name, those of service::save_known() and of the disk.
Job save_job(const SavedSlot& saved);
// {id_slot, filename, n_restored, n_read, timings}: the text is the slot's, and prompts that begin
// with it go on behind it. Errors: kInvalidArgument where there is no such file that can be read;
// those of service::restore_known(). Nothing has changed then.
Job restore_job(const SavedSlot& saved);
// {id_slot, n_erased}: the slot is as if it was never used, and the cache forgets its text but for
// what running texts and other slots have of it.
Job erase_job(const std::shared_ptr<SlotTable::Use>& slot);

}  // namespace puna::api::llama
