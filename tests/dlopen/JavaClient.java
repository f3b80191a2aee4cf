import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A Java program that opens the library itself, with java.lang.foreign. Arguments: LIBRARY URL */
public final class JavaClient {
    private static final int NOUL = 1, CHOICE = 2, TEXT = 2, RECORD = 64;
    private static final short POLLIN = 1;
    private static final String STATE = "The heating has failed, send somebody now.";
    private final Arena arena;
    private final SymbolLookup library;

    private JavaClient(Arena arena, String path) {
        this.arena = arena;
        library = SymbolLookup.libraryLookup(Path.of(path), arena).or(Linker.nativeLinker().defaultLookup());
    }

    /** Calls a C function; a text goes as its bytes and their number, long is size_t or uint64_t. */
    private int call(boolean status, String name, Object... arguments) throws Throwable {
        List<MemoryLayout> layouts = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        for (Object argument : arguments) {
            if (argument instanceof String text) {
                byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
                layouts.addAll(List.of(ADDRESS, JAVA_LONG));
                values.addAll(List.of(arena.allocateFrom(JAVA_BYTE, bytes), (long) bytes.length));
                continue;
            }
            layouts.add(argument instanceof Integer ? JAVA_INT : argument instanceof Long ? JAVA_LONG : ADDRESS);
            values.add(argument);
        }
        MemoryLayout[] kinds = layouts.toArray(MemoryLayout[]::new);
        FunctionDescriptor shape = status ? FunctionDescriptor.of(JAVA_INT, kinds) : FunctionDescriptor.ofVoid(kinds);
        Object result = Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(), shape).invokeWithArguments(values);
        return status ? (int) result : 0;
    }

    private void must(String name, Object... arguments) throws Throwable {
        check(call(true, name, arguments) == 0, name + " failed");
    }

    private MemorySegment make(String name, Object... arguments) throws Throwable {
        MemorySegment out = arena.allocate(ADDRESS);
        List<Object> all = new ArrayList<>(List.of(arguments));
        all.add(out);
        must(name, all.toArray());
        return out.get(ADDRESS, 0);
    }

    private static void check(boolean good, String text) {
        if (!good) {
            throw new IllegalStateException(text);
        }
    }

    private static String number(double value) {
        return Double.isNaN(value) ? "null" : Double.toString(value);
    }

    private String records(MemorySegment response) throws Throwable {
        MemorySegment room = arena.allocate(2 * RECORD, 8), written = arena.allocate(JAVA_LONG);
        must("deem_response_answers", response, room, (long) RECORD, 2L, written);
        List<String> rows = new ArrayList<>();
        for (long at = 0; at < written.get(JAVA_LONG, 0) * RECORD; at += RECORD) {
            List<String> fields = new ArrayList<>();
            for (int offset : new int[] {0, 4, 8, 12, 16, 24, 32, 36, 40, 44}) {
                boolean real = offset == 16 || offset == 24;
                fields.add(real ? number(room.get(JAVA_DOUBLE, at + offset)) : "" + room.get(JAVA_INT, at + offset));
            }
            rows.add("[" + String.join(",", fields) + "]");
        }
        return "[" + String.join(",", rows) + "]";
    }

    private MemorySegment questions() throws Throwable {
        MemorySegment builder = make("deem_question_set_builder_new");
        must("deem_question_set_builder_add", builder, NOUL, "urgent", TEXT, "Is help needed right away?");
        must("deem_question_set_builder_add", builder, CHOICE, "team", TEXT, "Who should take it?");
        must("deem_question_set_builder_option", builder, "B\u00fcro", TEXT, "Money, invoices, refunds");
        must("deem_question_set_builder_option", builder, "W\u00e4rme", TEXT, "Heating and faults");
        MemorySegment set = make("deem_question_set_new", builder);
        call(false, "deem_question_set_builder_free", builder);
        return set;
    }

    private MemorySegment connect(String url) throws Throwable {
        MemorySegment config = make("deem_config_new");
        must("deem_config_set_api_key", config, "key");
        must("deem_config_set_base_url", config, url);
        MemorySegment client = make("deem_client_new", config);
        call(false, "deem_config_free", config);
        return client;
    }

    private String run(String url) throws Throwable {
        MemorySegment version = arena.allocate(JAVA_INT, 3);
        must("deem_abi_version", version, version.asSlice(4), version.asSlice(8));
        check(version.getAtIndex(JAVA_INT, 0) == 0 && version.getAtIndex(JAVA_INT, 1) >= 1
                && version.getAtIndex(JAVA_INT, 2) <= 1, "the library serves another ABI");
        MemorySegment set = questions(), client = connect(url), response = arena.allocate(ADDRESS);
        must("deem_client_cancel", client, -2L); // unknown: no error

        must("deem_evaluate_text", client, set, STATE, MemorySegment.NULL, response);
        MemorySegment noul = arena.allocate(JAVA_DOUBLE), confidence = arena.allocate(JAVA_DOUBLE);
        MemorySegment option = arena.allocate(JAVA_INT), label = arena.allocate(ADDRESS), length = arena.allocate(JAVA_LONG);
        must("deem_response_noul", response.get(ADDRESS, 0), 0L, noul);
        must("deem_response_choice", response.get(ADDRESS, 0), 1L, option, label, length, confidence);
        byte[] bytes = label.get(ADDRESS, 0).reinterpret(length.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
        String line = "{\"noul\":" + number(noul.get(JAVA_DOUBLE, 0)) + ",\"label\":\"" + new String(bytes, StandardCharsets.UTF_8)
                + "\",\"confidence\":" + number(confidence.get(JAVA_DOUBLE, 0)) + ",\"records\":" + records(response.get(ADDRESS, 0));

        MemorySegment fd = arena.allocate(JAVA_INT), id = arena.allocate(JAVA_LONG), done = arena.allocate(JAVA_LONG);
        must("deem_client_fd", client, fd);
        must("deem_submit_text", client, set, STATE, MemorySegment.NULL, id);
        while (done.get(JAVA_LONG, 0) == 0) {
            MemorySegment wait = arena.allocate(8, 4); // struct pollfd
            wait.set(JAVA_INT, 0, fd.get(JAVA_INT, 0));
            wait.set(JAVA_SHORT, 4, POLLIN);
            check(call(true, "poll", wait, 1L, 10000) == 1, "nothing came within 10 seconds");
            must("deem_client_step", client);
            must("deem_client_next", client, done, response);
        }
        must("deem_response_code", response.get(ADDRESS, 0));
        check(done.get(JAVA_LONG, 0) == id.get(JAVA_LONG, 0), "another call finished");
        line += ",\"submitted\":" + records(response.get(ADDRESS, 0)) + "}";
        call(false, "deem_response_free", response.get(ADDRESS, 0));
        call(false, "deem_client_free", client);
        call(false, "deem_question_set_free", set);
        return line;
    }

    public static void main(String[] arguments) throws Throwable {
        String line;
        try (Arena arena = Arena.ofConfined()) { // its end also closes the library
            line = new JavaClient(arena, arguments[0]).run(arguments[1]);
        }
        new PrintStream(System.out, true, StandardCharsets.UTF_8).println(line);
    }
}
