// Terms from files. See terms.h.
#include "daemon/peers/terms.h"

#include "daemon/peers/key_file.h"

namespace tentq {

bool load_terms(const PeerSettings& settings, const std::string& state_directory,
                std::uint64_t epoch_counter, std::uint64_t epoch_random, PeerTerms* terms,
                std::string* why) {
  terms->settings = settings;
  terms->self.epoch_counter = epoch_counter;
  terms->self.epoch_random = epoch_random;
  if (!load_host_id(state_directory, epoch_counter, &terms->self.host, why)) return false;
  switch (settings.auth) {
    case PeerAuth::none: return true;
    case PeerAuth::psk:
      return settings.key_file.empty() || read_key_file(settings.key_file, &terms->key, why);
    case PeerAuth::mtls:
      if (settings.tls_certificate_file.empty()) return true;
      terms->tls = TlsTerms::load(settings, why);
      return terms->tls != nullptr;
  }
  return false;
}

std::string_view to_string(PeerAuth auth) {
  switch (auth) {
    case PeerAuth::psk: return "psk";
    case PeerAuth::mtls: return "mtls";
    case PeerAuth::none: return "none";
  }
  return "unknown";
}

std::string warning_of(const PeerSettings& settings) {
  if (settings.listen.empty() || settings.auth != PeerAuth::none) return {};
  return "peers are not authenticated: whoever reaches " + settings.listen +
         " may read and write what is registered for other hosts; set `peers.auth`: \"mtls\" "
         "and certificates, or \"psk\" and a key";
}

}  // namespace tentq
