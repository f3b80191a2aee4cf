// Java's foreign function interface (22 and newer). usage: Evaluate LIBRARY QUESTIONS STATE; server and key come from TYPESAFE_*.
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

public class Evaluate {
    static SymbolLookup library;

    /** Calls a function that returns a status. */
    static int call(String name, MemoryLayout[] layouts, Object... arguments) throws Throwable {
        var type = FunctionDescriptor.of(JAVA_INT, layouts);
        return (int) Linker.nativeLinker().downcallHandle(library.find(name).get(), type).invokeWithArguments(arguments);
    }

    static void ok(String name, MemoryLayout[] layouts, Object... arguments) throws Throwable {
        if (call(name, layouts, arguments) != 0) throw new AssertionError(name);
    }

    static MemoryLayout[] of(MemoryLayout... layouts) {
        return layouts;
    }

    public static void main(String[] arguments) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            library = SymbolLookup.libraryLookup(Path.of(arguments[0]), arena);
            byte[] questions = arguments[1].getBytes(StandardCharsets.UTF_8), state = arguments[2].getBytes(StandardCharsets.UTF_8);
            MemorySegment major = arena.allocate(JAVA_INT), minor = arena.allocate(JAVA_INT);
            ok("deem_abi_version", of(ADDRESS, ADDRESS, ADDRESS), major, minor, MemorySegment.NULL);
            System.out.printf("abi %d %d%n", major.get(JAVA_INT, 0), minor.get(JAVA_INT, 0));

            MemorySegment out = arena.allocate(ADDRESS);
            ok("deem_question_set_builder_new", of(ADDRESS), out);
            MemorySegment builder = out.get(ADDRESS, 0);
            ok("deem_question_set_builder_json", of(ADDRESS, ADDRESS, JAVA_LONG), builder,
               arena.allocateFrom(JAVA_BYTE, questions), (long) questions.length);
            ok("deem_question_set_new", of(ADDRESS, ADDRESS), builder, out);
            MemorySegment set = out.get(ADDRESS, 0);
            ok("deem_config_new", of(ADDRESS), out);
            MemorySegment config = out.get(ADDRESS, 0);
            ok("deem_client_new", of(ADDRESS, ADDRESS), config, out);
            MemorySegment client = out.get(ADDRESS, 0);
            out.set(ADDRESS, 0, MemorySegment.NULL);
            ok("deem_evaluate_text", of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS), client, set,
               arena.allocateFrom(JAVA_BYTE, state), (long) state.length, MemorySegment.NULL, out);
            MemorySegment response = out.get(ADDRESS, 0);

            MemorySegment urgent = arena.allocate(JAVA_DOUBLE), label = arena.allocate(ADDRESS), length = arena.allocate(JAVA_LONG);
            MemoryLayout[] noul = of(ADDRESS, JAVA_LONG, ADDRESS);
            ok("deem_response_noul", noul, response, 0L, urgent);
            ok("deem_response_choice", of(ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS), response, 1L, MemorySegment.NULL,
               label, length, MemorySegment.NULL);
            byte[] team = label.get(ADDRESS, 0).reinterpret(length.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
            System.out.printf("urgent %.6f%nteam %s%n", urgent.get(JAVA_DOUBLE, 0), new String(team, StandardCharsets.UTF_8));
            if (call("deem_response_noul", noul, response, 1L, urgent) != 6 || !Double.isNaN(urgent.get(JAVA_DOUBLE, 0)))
                throw new AssertionError("a choice was read as a noul");

            String[] names = {"response", "client", "config", "question_set", "question_set_builder"};
            MemorySegment[] handles = {response, client, config, set, builder};
            for (int i = 0; i < names.length; i++) {
                var free = library.find("deem_" + names[i] + "_free").get();
                Linker.nativeLinker().downcallHandle(free, FunctionDescriptor.ofVoid(ADDRESS)).invokeWithArguments(handles[i]);
            }
        }
    }
}
