#include "cli/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/*
 * The few names of libcurl's interface that are used, with the numbers that they have had since
 * version 4: so its headers need not be installed to build tidemark.
 */
enum curl_option {
    CURL_WRITEDATA = 10001,
    CURL_URL = 10002,
    CURL_ERRORBUFFER = 10010,
    CURL_POSTFIELDS = 10015,
    CURL_USERAGENT = 10018,
    CURL_HTTPHEADER = 10023,
    CURL_CAINFO = 10065,
    CURL_USERNAME = 10173,
    CURL_PASSWORD = 10174,
    CURL_WRITEFUNCTION = 20011,
    CURL_POSTFIELDSIZE_LARGE = 30120,
    CURL_POST = 47,
    CURL_SSL_VERIFYPEER = 64,
    CURL_SSL_VERIFYHOST = 81,
    CURL_NOSIGNAL = 99,
    CURL_TIMEOUT_MS = 155,
    CURL_CONNECTTIMEOUT_MS = 156,
};
enum curl_info { CURL_RESPONSE_CODE = 0x200000 + 2 };
enum curl_code {
    CURL_OK = 0,
    CURL_UNSUPPORTED_PROTOCOL = 1,
    CURL_URL_MALFORMAT = 3,
    CURL_SSL_CERTPROBLEM = 58,
    CURL_PEER_FAILED_VERIFICATION = 60,
    CURL_SSL_CACERT_BADFILE = 77,
};
#define CURL_ERROR_SIZE 256
#define CURL_GLOBAL_ALL 3L

struct curl {
    int (*global_init)(long flags);
    void *(*init)(void);
    int (*set)(void *easy, int option, ...);
    int (*perform)(void *easy);
    int (*info)(void *easy, int info, ...);
    void (*cleanup)(void *easy);
    const char *(*error)(int code);
    void *(*add)(void *list, const char *line);
    void (*free_list)(void *list);
};

/* The library stays loaded: it may have threads and handlers of its own. */
static int load(struct curl *c, struct err *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library && (c->global_init = dlsym(library, "curl_global_init")) &&
        (c->init = dlsym(library, "curl_easy_init")) &&
        (c->set = dlsym(library, "curl_easy_setopt")) &&
        (c->perform = dlsym(library, "curl_easy_perform")) &&
        (c->info = dlsym(library, "curl_easy_getinfo")) &&
        (c->cleanup = dlsym(library, "curl_easy_cleanup")) &&
        (c->error = dlsym(library, "curl_easy_strerror")) &&
        (c->add = dlsym(library, "curl_slist_append")) &&
        (c->free_list = dlsym(library, "curl_slist_free_all")) &&
        c->global_init(CURL_GLOBAL_ALL) == CURL_OK)
        return 0;
    return err_set(
        err, -ENOSYS,
        "libcurl.so.4 cannot be loaded; install it, on Debian and Ubuntu: apt-get install "
        "libcurl4, on Fedora and RHEL: dnf install libcurl");
}

/* Keeps the beginning of the server's answer, in one line. */
static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct http_answer *answer = context;
    size_t have = strlen(answer->text);
    for (size_t i = 0; i < size * count && have < sizeof answer->text - 1; i++)
        if (bytes[i] != '\0')
            answer->text[have++] = bytes[i] == '\n' || bytes[i] == '\r' ? ' ' : bytes[i];
    while (have && answer->text[have - 1] == ' ')
        have--;
    answer->text[have] = '\0';
    return size * count;
}

static void add_header(const struct curl *c, void **list, const char *name, const char *value)
{
    char *line = xasprintf("%s%s", name, value);
    *list = must_alloc(c->add(*list, line));
    explicit_bzero(line, strlen(line));
    free(line);
}

static int failed(const struct curl *c, int code, const char *details, const struct http_post *post,
                  struct err *err)
{
    const char *why = *details ? details : c->error(code);
    switch (code) {
    case CURL_UNSUPPORTED_PROTOCOL:
    case CURL_URL_MALFORMAT:
        return err_set(err, -EINVAL, "%s", why);
    case CURL_SSL_CERTPROBLEM:
    case CURL_PEER_FAILED_VERIFICATION:
        return err_set(err, -EACCES,
                       "its certificate is not trusted: %s; --ca FILE names the authority that "
                       "signed it",
                       why);
    case CURL_SSL_CACERT_BADFILE:
        return err_set(err, -EACCES, "the certificates of %s cannot be read: %s",
                       post->ca ? post->ca : "the system", why);
    default:
        return err_set(err, -EAGAIN, "%s", why);
    }
}

int http_post(const struct http_post *post, struct http_answer *answer, struct err *err)
{
    static struct curl curl;
    char details[CURL_ERROR_SIZE] = "";
    void *headers = NULL;
    *answer = (struct http_answer){0};
    if (!curl.free_list) {
        int code = load(&curl, err);
        if (code) {
            curl.free_list = NULL;
            return code;
        }
    }
    const struct curl *c = &curl;
    void *easy = must_alloc(c->init());
    add_header(c, &headers, "Content-Type: ", post->content_type);
    if (post->encoding)
        add_header(c, &headers, "Content-Encoding: ", post->encoding);
    add_header(c, &headers, "Expect:", ""); /* send the body at once */
    if (post->token)
        add_header(c, &headers, "Authorization: Bearer ", post->token);
    c->set(easy, CURL_URL, post->url);
    if (post->user) {
        c->set(easy, CURL_USERNAME, post->user);
        c->set(easy, CURL_PASSWORD, post->password ? post->password : "");
    }
    c->set(easy, CURL_POST, 1L);
    c->set(easy, CURL_POSTFIELDS, post->body);
    c->set(easy, CURL_POSTFIELDSIZE_LARGE, (int64_t)post->size);
    c->set(easy, CURL_HTTPHEADER, headers);
    c->set(easy, CURL_USERAGENT, "tidemark");
    c->set(easy, CURL_ERRORBUFFER, details);
    c->set(easy, CURL_WRITEFUNCTION, take_answer);
    c->set(easy, CURL_WRITEDATA, answer);
    c->set(easy, CURL_NOSIGNAL, 1L);
    c->set(easy, CURL_CONNECTTIMEOUT_MS, 10000L);
    c->set(easy, CURL_TIMEOUT_MS, 60000L);
    c->set(easy, CURL_SSL_VERIFYPEER, 1L);
    c->set(easy, CURL_SSL_VERIFYHOST, 2L);
    if (post->ca)
        c->set(easy, CURL_CAINFO, post->ca);
    int code = c->perform(easy);
    if (code == CURL_OK)
        c->info(easy, CURL_RESPONSE_CODE, &answer->status);
    code = code == CURL_OK ? 0 : failed(c, code, details, post, err);
    c->cleanup(easy);
    c->free_list(headers);
    return code;
}
