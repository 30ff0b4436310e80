// See certificates.h.
#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <stdexcept>

namespace tentq::test {
namespace {

template <auto free_it>
struct FreeBy {
  template <class T>
  void operator()(T* what) const {
    free_it(what);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using File = std::unique_ptr<std::FILE, FreeBy<std::fclose>>;

void need(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("certificate: ") + what);
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  need(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value.c_str());
  X509_EXTENSION_free(extension);
}

Certificate begin(EVP_PKEY* key, const CertificateTerms& terms) {
  Certificate certificate(X509_new());
  std::uint64_t serial = 0;
  need(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1, "serial");
  need(X509_set_version(certificate.get(), X509_VERSION_3) == 1, "version");
  need(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1) == 1,
       "serial");
  const auto seconds = [](std::chrono::hours hours) {
    return static_cast<long>(hours.count() * 3600);
  };
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), seconds(terms.begins));
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds(terms.ends));
  need(X509_set_pubkey(certificate.get(), key) == 1, "key");
  need(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(terms.common_name.c_str()),
                                  -1, -1, 0) == 1,
       "name");
  return certificate;
}

void write(const std::string& path, mode_t mode, auto content) {
  const File file(std::fopen(path.c_str(), "w"));
  need(file && ::fchmod(::fileno(file.get()), mode) == 0 && content(file.get()) == 1, path.c_str());
}

}  // namespace

struct Authority::Parts {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
};

Authority::Authority(const std::string& name)
    : directory_("tentq-certificates"), file_(directory_.file("ca.pem")), parts_(new Parts) {
  parts_->certificate =
      begin(parts_->key.get(), {.common_name = name, .ends = std::chrono::hours{2}});
  X509* const own = parts_->certificate.get();
  need(X509_set_issuer_name(own, X509_get_subject_name(own)) == 1, "issuer");
  extend(own, own, NID_basic_constraints, "critical, CA:TRUE");
  extend(own, own, NID_key_usage, "critical, keyCertSign");
  extend(own, own, NID_subject_key_identifier, "hash");
  need(X509_sign(own, parts_->key.get(), EVP_sha256()) > 0, "signature");
  write(file_, 0644, [&](std::FILE* file) { return PEM_write_X509(file, own); });
}

Authority::~Authority() = default;

CertificateFiles Authority::issue(const std::string& name, const CertificateTerms& terms) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = begin(key.get(), terms);
  X509* const issuer = parts_->certificate.get();
  need(X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) == 1, "issuer");
  std::string names;
  for (const std::string& one : terms.names) names += (names.empty() ? "" : ", ") + one;
  if (!names.empty()) extend(certificate.get(), issuer, NID_subject_alt_name, names);
  extend(certificate.get(), issuer, NID_ext_key_usage, terms.usages);
  need(X509_sign(certificate.get(), parts_->key.get(), EVP_sha256()) > 0, "signature");
  CertificateFiles files{directory_.file(name + ".pem"), directory_.file(name + ".key")};
  write(files.certificate, 0644,
        [&](std::FILE* file) { return PEM_write_X509(file, certificate.get()); });
  write(files.key, 0600, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace tentq::test
