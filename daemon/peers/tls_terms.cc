// Files of TLS, and names in certificates. See tls_terms.h.
#include "daemon/peers/tls_terms.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>

#include "daemon/config/name_list.h"
#include "daemon/peers/key_file.h"

namespace tentq {
namespace {

// Of a handshake: a chain of a few certificates.
constexpr long kMostChainBytes = 32L << 10;
// What is read from a socket at once, a few records.
constexpr std::size_t kReadBytes = 128u << 10;
constexpr std::size_t kMostNamesText = 100;

template <auto free_it>
struct FreeBy {
  template <class T>
  void operator()(T* what) const {
    free_it(what);
  }
};
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using NameList = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;

// Of the first fault of a call that failed.
std::string library_text() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(static_cast<int>(ERR_GET_REASON(code)));
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "it is not what it should be" : text;
}

// An encrypted key has nobody here to ask.
int no_password(char*, int, int, void*) {
  return -1;
}

std::string printable(const unsigned char* text, int length) {
  std::string result;
  for (int i = 0; i < length; ++i) {
    const unsigned char c = text[i];
    result += c > ' ' && c < 127 ? static_cast<char>(c) : '?';
  }
  return result;
}

std::string text_of(const GENERAL_NAME& name) {
  if (name.type == GEN_DNS) {
    return printable(ASN1_STRING_get0_data(name.d.dNSName), ASN1_STRING_length(name.d.dNSName));
  }
  if (name.type != GEN_IPADD) return {};
  char text[INET6_ADDRSTRLEN] = {};
  const int length = ASN1_STRING_length(name.d.iPAddress);
  if (length != 4 && length != 16) return {};
  ::inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name.d.iPAddress), text,
              sizeof(text));
  return text;
}

std::vector<std::string> all_names(X509* certificate) {
  std::vector<std::string> names;
  const NameList list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (const int type : {GEN_DNS, GEN_IPADD}) {
    for (int i = 0; list && i < sk_GENERAL_NAME_num(list.get()); ++i) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
      if (name->type == type) names.push_back(text_of(*name));
    }
  }
  if (!names.empty()) return names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return names;
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  names.push_back(printable(ASN1_STRING_get0_data(text), ASN1_STRING_length(text)));
  return names;
}

// Which of two names, one of which may begin with "*.".
bool fits(const std::string& pattern, const std::string& name) {
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      };
      return lower(x) == lower(y);
    });
  };
  if (!pattern.starts_with("*.")) return same(pattern, name);
  const std::size_t dot = name.find('.');
  return dot != std::string::npos && dot > 0 && same(pattern.substr(1), name.substr(dot));
}

}  // namespace

void TlsTerms::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

std::string name_of(X509* certificate) {
  const auto names = all_names(certificate);
  return names.empty() ? std::string() : names.front().substr(0, 253);
}

std::string names_of(X509* certificate) {
  std::string text;
  for (const std::string& name : all_names(certificate)) {
    if (!text.empty()) text += ", ";
    text += name;
    if (text.size() > kMostNamesText) return text.substr(0, kMostNamesText) + "…";
  }
  return text.empty() ? "no name" : text;
}

bool TlsTerms::lets_in(X509* certificate) const {
  if (names_.empty()) return true;
  const auto has = all_names(certificate);
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& pattern) {
    return std::any_of(has.begin(), has.end(),
                       [&](const std::string& name) { return fits(pattern, name); });
  });
}

std::shared_ptr<const TlsTerms> TlsTerms::load(const PeerSettings& settings, std::string* why) {
  ERR_clear_error();
  std::shared_ptr<TlsTerms> terms(new TlsTerms);
  terms->context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* const context = terms->context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context,
                               "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                               "TLS_CHACHA20_POLY1305_SHA256") != 1) {
    *why = "TLS cannot be set up: " + library_text();
    return nullptr;
  }
  // Each connection proves itself anew: nothing is resumed, and nothing comes before the proof.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_max_cert_list(context, kMostChainBytes);
  SSL_CTX_set_default_read_buffer_len(context, kReadBytes);
  SSL_CTX_set_read_ahead(context, 1);
  if (!terms->load_authorities(settings, why) || !terms->load_certificate(settings, why) ||
      !terms->load_key(settings, why)) {
    return nullptr;
  }
  parse_name_list(settings.allowed_names, &terms->names_);
  return terms;
}

bool TlsTerms::load_authorities(const PeerSettings& settings, std::string* why) {
  if (SSL_CTX_load_verify_file(context_.get(), settings.tls_ca_file.c_str()) == 1) return true;
  *why = "`peers.tls_ca_file` " + settings.tls_ca_file + " cannot be used: " + library_text() +
         "; it must hold the certificates, in PEM, of the authorities that sign those of all hosts";
  return false;
}

bool TlsTerms::load_certificate(const PeerSettings& settings, std::string* why) {
  const std::string& path = settings.tls_certificate_file;
  if (SSL_CTX_use_certificate_chain_file(context_.get(), path.c_str()) != 1) {
    *why = "`peers.tls_certificate_file` " + path + " cannot be used: " + library_text() +
           "; it must hold this host's certificate in PEM, and those between it and the authority";
    return false;
  }
  const X509* own = SSL_CTX_get0_certificate(context_.get());
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    *why = "the certificate " + path +
           " has expired: put a new one there, then restart tentqd, or "
           "send it SIGHUP if it runs";
    return false;
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
    *why = "the certificate " + path +
           " is not valid yet: check this host's clock, or put another "
           "one there";
    return false;
  }
  return true;
}

bool TlsTerms::load_key(const PeerSettings& settings, std::string* why) {
  const std::string& path = settings.tls_key_file;
  PeerKey bytes;
  if (!read_private_file(path, 1, kMostPrivateKeyBytes, &bytes, why)) return false;
  const Bio text(BIO_new_mem_buf(bytes.bytes().data(), static_cast<int>(bytes.bytes().size())));
  const PrivateKey key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr));
  if (!key) {
    ERR_clear_error();
    *why = "the key file " + path +
           " holds no private key in PEM that is not encrypted; decrypt "
           "it with `openssl pkey`, or make another";
    return false;
  }
  if (SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1) return true;
  ERR_clear_error();
  *why = "the private key " + path + " does not fit the certificate " +
         settings.tls_certificate_file + ": use the two that were made together";
  return false;
}

}  // namespace tentq
