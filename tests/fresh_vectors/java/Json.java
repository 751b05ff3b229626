import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.pulsar.broker.ServiceConfiguration;

/** Reading cases, writing answers, and reaching what has no setter. */
final class Json {
    static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {
    }

    interface Step {
        JsonNode taken(JsonNode step);
    }

    static ObjectNode steps(JsonNode in, Step each) {
        var out = MAPPER.createObjectNode();
        var answers = out.putArray("steps");
        in.get("steps").forEach(step -> answers.add(each.taken(step)));
        return out;
    }

    static ServiceConfiguration settings(JsonNode in) {
        var made = new ServiceConfiguration();
        for (Field field : ServiceConfiguration.class.getDeclaredFields()) {
            JsonNode value = in.path("config").path(field.getName());
            if (!value.isMissingNode()) { // a setting of another release is unknown to this one
                set(made, field.getName(), MAPPER.convertValue(value, field.getType()));
            }
        }
        return made;
    }

    static double number(JsonNode entry, String name) {
        return entry.has(name) ? number(entry.get(name)) : 0.0;
    }

    static double number(JsonNode value) {
        return value.isTextual() ? Double.parseDouble(value.asText()) : value.asDouble();
    }

    /** A double as JSON has it: not a number and the infinities are texts. */
    static JsonNode number(double value) {
        return Double.isFinite(value)
                ? MAPPER.getNodeFactory().numberNode(value) : MAPPER.getNodeFactory().textNode(Double.toString(value));
    }

    static ObjectNode numbers(Map<String, Double> values) {
        var written = MAPPER.createObjectNode();
        values.forEach((name, value) -> written.set(name, number(value)));
        return written;
    }

    static List<String> texts(JsonNode array) {
        var all = new ArrayList<String>();
        array.forEach(each -> all.add(each.asText()));
        return all;
    }

    /** Filled one by one, see below. */
    static Set<String> hashSet(List<String> names) {
        var all = new HashSet<String>();
        names.forEach(all::add);
        return all;
    }

    static ArrayNode array(Iterable<String> names) {
        var all = MAPPER.createArrayNode();
        names.forEach(all::add);
        return all;
    }

    // what has no getter

    @SuppressWarnings("unchecked")
    static <T> T field(Object of, String name) {
        try {
            return (T) declared(of.getClass(), name).get(of);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    static void set(Object of, String name, Object value) {
        set(of, of.getClass(), name, value);
    }

    static void set(Object of, Class<?> type, String name, Object value) {
        try {
            declared(type, name).set(of, value);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    static Field declared(Class<?> type, String name) {
        try {
            Field found = type.getDeclaredField(name);
            found.setAccessible(true);
            return found;
        } catch (NoSuchFieldException error) {
            throw new IllegalArgumentException(name, error);
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T call(Object of, Class<?> type, String name, Class<?>[] parameters, Object... given) {
        try {
            var method = type.getDeclaredMethod(name, parameters);
            method.setAccessible(true);
            return (T) method.invoke(of, given);
        } catch (InvocationTargetException error) {
            throw error.getCause() instanceof RuntimeException thrown ? thrown : new IllegalStateException(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** A class that not every release can compile. */
    static Class<?> named(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException error) {
            throw new IllegalStateException(error);
        }
    }

    /** An object whose constructor has not run, but that has the loggers which its class keeps in objects (from 5.0 on). */
    static <T> T bare(Class<T> type) {
        try {
            var unsafe = declared(named("sun.misc.Unsafe"), "theUnsafe").get(null);
            var allocate = unsafe.getClass().getMethod("allocateInstance", Class.class);
            T made = type.cast(allocate.invoke(unsafe, type));
            for (Class<?> each = type; each != null; each = each.getSuperclass()) {
                giveLoggers(made, each);
            }
            return made;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void giveLoggers(Object made, Class<?> declaring) throws ReflectiveOperationException {
        for (Field field : declaring.getDeclaredFields()) {
            Class<?> type = field.getType();
            if (type.getName().equals("io.github.merlimat.slog.Logger") && !Modifier.isStatic(field.getModifiers())) {
                set(made, declaring, field.getName(), type.getMethod("get", Class.class).invoke(null, declaring));
            }
        }
    }

    /** Say which brokers are alive, where the release listens to that. */
    static void tellActive(Object strategy, JsonNode brokers) {
        try {
            strategy.getClass().getMethod("onActiveBrokersChange", Set.class).invoke(strategy, hashSet(texts(brokers)));
        } catch (NoSuchMethodException error) {
            return;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    static boolean declares(Class<?> type, String method, Class<?>... parameters) {
        try {
            type.getDeclaredMethod(method, parameters);
            return true;
        } catch (NoSuchMethodException error) {
            return false;
        }
    }

    // Maps are filled one by one: putAll and copies make a table as large as for all at once, with another order.

    static <V> void replace(Map<String, V> map, Map<String, V> others) {
        map.keySet().retainAll(others.keySet());
        others.forEach(map::put);
    }

    static <V> Map<String, V> named(JsonNode entries, String name, Function<JsonNode, V> made) {
        Map<String, V> all = new LinkedHashMap<>();
        entries.forEach(entry -> all.put(entry.get(name).asText(), made.apply(entry)));
        return all;
    }
}
