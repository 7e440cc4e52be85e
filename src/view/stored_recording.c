#include "view/stored_recording.h"

#include "store/chunk.h"
#include "store/file.h"
#include "store/reader.h"

int stored_recording(const char *path, struct strbuf *out, struct err *err)
{
    struct chunk_source source;
    struct chunk chunk;
    struct strbuf raw = {0};
    struct err damage;
    uint64_t unpacked = 0;
    int status = recording_file_open(&source, path, err);
    if (status)
        return status;
    status = recording_take_header(&source, path, err);
    if (!status)
        strbuf_add(out, source.held.data, FILE_HEADER);
    while (!status && chunk_next(&source, &chunk, &damage) > 0) {
        unpacked += chunk.raw;
        if (unpacked > CHUNKS_RAW_FREE + source.offset * CHUNK_RATIO ||
            chunk_unpack(&chunk, &raw, &damage))
            break; /* the page, like every reader, reports that the end mark is missing */
        chunk_append_stored(out, (enum chunk_type)chunk.type, chunk.process, &raw);
    }
    strbuf_release(&raw);
    recording_file_close(&source);
    return status;
}
