/* What a libcurl code means for us. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "transport/curl_shard.h"

/* 1 when no further pair of descriptors can be had, which is what libcurl's resolver needs: it
 * reports that as a failed look-up. An unreadable CA file and more have the same cause. */
static int out_of_descriptors(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return errno == EMFILE || errno == ENFILE;
    }
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static dm_failure classify(const dm_transport *transport, CURLcode code, long system_error,
                           long proxy_status) {
    /* Tinyproxy answers a wrong password with 401. */
    if (proxy_status == 407 || proxy_status == 401) {
        return DM_FAIL_PROXY_AUTH;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return DM_FAIL_DNS;
    case CURLE_COULDNT_CONNECT:
        return system_error != 0 ? dm_errno_failure((int)system_error) : DM_FAIL_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return DM_FAIL_UNREACHABLE;
    case CURLE_PROXY:
        return DM_FAIL_PROXY;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return DM_FAIL_CERTIFICATE;
    case CURLE_SSL_CACERT_BADFILE:
        return DM_FAIL_CA_SETTING;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CLIENTCERT:
        return DM_FAIL_TLS;
    case CURLE_OUT_OF_MEMORY:
        return DM_FAIL_MEMORY;
    case CURLE_PARTIAL_FILE:
        return DM_FAIL_TRUNCATED;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return DM_FAIL_FRAMING;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        return transport->route == DM_ROUTE_TUNNEL && proxy_status != 0 && proxy_status / 100 != 2
                   ? DM_FAIL_PROXY
                   : DM_FAIL_RESET;
    case CURLE_FAILED_INIT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_UNKNOWN_OPTION:
        return DM_FAIL_LIBCURL;
    default:
        return DM_FAIL_UNREACHABLE;
    }
}

dm_failure dm_transfer_explain(const dm_transport *transport, dm_transfer *transfer, CURLcode code,
                               const char *doing, dm_error *error) {
    const dm_curl_api *api = transfer->api;
    long system_error = 0;
    long proxy_status = 0;
    curl_off_t tls_time = 0;
    api->easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &system_error);
    api->easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    api->easy_getinfo(transfer->easy, CURLINFO_APPCONNECT_TIME_T, &tls_time);
    dm_failure kind = classify(transport, code, system_error, proxy_status);
    if (kind == DM_FAIL_RESET && transport->route == DM_ROUTE_TUNNEL && proxy_status == 0) {
        kind = DM_FAIL_PROXY; /* it closed in the middle of the CONNECT */
    }
    if (transfer->descriptors_gone || (kind != DM_FAIL_RESET && out_of_descriptors())) {
        kind = DM_FAIL_DESCRIPTORS;
        code = CURLE_OK;
    }
    const char *reason = kind == DM_FAIL_DESCRIPTORS    ? dm_errno_text(EMFILE)
                         : kind == DM_FAIL_REFUSED      ? dm_errno_text(ECONNREFUSED)
                         : transfer->message[0] != '\0' ? transfer->message
                                                        : api->easy_strerror(code);
    dm_bytes safe = {0};
    dm_text_append_safe(&safe, dm_span_of(reason, strlen(reason)), 200);
    const char *via = transport->has_proxy ? " through " : "";
    const char *proxy = transport->has_proxy ? transport->proxy.shown.data : "";
    const char *ca = transport->ca.file.len > 0 ? transport->ca.file.data : transport->ca.dir.data;
    int about_ca = kind == DM_FAIL_CERTIFICATE && ca != NULL;
    dm_fail(error, kind, "%s %s%s%s: %s%s%.100s%s", doing, transport->peer.data, via, proxy,
            safe.data != NULL ? safe.data : "",
            about_ca ? " (trusted are the certificates of " : "", about_ca ? ca : "",
            about_ca ? ")" : "");
    dm_bytes_free(&safe);
    return kind;
}
