import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.StickyKeyConsumerSelector;
import org.apache.pulsar.client.api.Range;

/** Who gets which key: the selectors of Key_Shared, whose signatures differ from release to release. */
final class Selectors {
    private static final String PACKAGE = "org.apache.pulsar.broker.service.";
    private static final Map<String, String> CLASSES = Map.of(
            "keyshared_consistent", "ConsistentHashingStickyKeyConsumerSelector",
            "keyshared_autosplit", "HashRangeAutoSplitStickyKeyConsumerSelector",
            "keyshared_sticky", "HashRangeExclusiveStickyKeyConsumerSelector");

    private final StickyKeyConsumerSelector selector;
    private final Consumers consumers = new Consumers();
    private final Map<Integer, Consumer> connected = new HashMap<>();

    private Selectors(StickyKeyConsumerSelector selector) {
        this.selector = selector;
    }

    static ObjectNode answer(String kind, JsonNode in) throws Exception {
        StickyKeyConsumerSelector selector;
        try {
            selector = selector(Json.named(PACKAGE + CLASSES.get(kind)), in);
        } catch (InvocationTargetException refused) {
            return refusal(Json.MAPPER.createObjectNode(), refused.getCause());
        }
        return Json.steps(in, new Selectors(selector)::taken);
    }

    /** The constructor with the most arguments: whole numbers in the order of {@code sizes}, and whether to say what moves. */
    private static StickyKeyConsumerSelector selector(Class<?> type, JsonNode in) throws Exception {
        Constructor<?> longest = Arrays.stream(type.getConstructors())
                .max((one, other) -> one.getParameterCount() - other.getParameterCount()).orElseThrow();
        var sizes = in.get("sizes").elements();
        Object[] given = Arrays.stream(longest.getParameterTypes())
                .map(wanted -> wanted == boolean.class ? (Object) true : sizes.next().asInt()).toArray();
        return (StickyKeyConsumerSelector) longest.newInstance(given);
    }

    private ObjectNode taken(JsonNode step) {
        var out = Json.MAPPER.createObjectNode();
        int id = step.get("id").asInt();
        boolean adds = step.get("op").asText().equals("add");
        if (!adds && !connected.containsKey(id)) {
            return out.put("refusedBefore", true);
        }
        Object moved = null;
        try {
            moved = adds ? added(step, id) : removed(id);
        } catch (InvocationTargetException | CompletionException refused) {
            refusal(out, refused.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
        if (moved instanceof Optional<?> impacted && impacted.isPresent()) {
            write(out.putObject("removed"), removedRanges(impacted.get()));
        }
        write(out.putObject("ranges"), selector.getConsumerKeyHashRanges());
        var owners = out.putArray("select");
        step.get("select").forEach(hash -> owners.add(owner(hash.asInt())));
        var keys = out.putArray("keys");
        for (JsonNode key : step.get("keys")) {
            int slot = slot(key.asText());
            keys.addArray().add(key.asText()).add(slot).add(owner(slot));
        }
        return out;
    }

    private Object added(JsonNode step, int id) throws ReflectiveOperationException {
        Consumer consumer = consumers.made(step);
        Object done = method("addConsumer", Consumer.class).invoke(selector, consumer);
        Object moved = done instanceof CompletableFuture<?> future ? future.join() : done;
        connected.put(id, consumer);
        return moved;
    }

    private Object removed(int id) throws ReflectiveOperationException {
        return method("removeConsumer", Consumer.class).invoke(selector, connected.remove(id));
    }

    @SuppressWarnings("unchecked")
    private static Map<Consumer, List<Range>> removedRanges(Object impacted) {
        Map<Consumer, Object> updated = Json.call(impacted, impacted.getClass(), "getRemovedHashRanges", new Class<?>[] {});
        Map<Consumer, List<Range>> all = new HashMap<>();
        updated.forEach((consumer, ranges) ->
                all.put(consumer, Json.call(ranges, ranges.getClass(), "asRanges", new Class<?>[] {})));
        return all;
    }

    private int slot(String key) {
        try {
            return (int) method("makeStickyKeyHash", byte[].class)
                    .invoke(selector, (Object) key.getBytes(StandardCharsets.UTF_8));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Method method(String name, Class<?>... parameters) throws NoSuchMethodException {
        return StickyKeyConsumerSelector.class.getMethod(name, parameters);
    }

    private JsonNode owner(int hash) {
        Consumer owner = selector.select(hash);
        var numbers = Json.MAPPER.getNodeFactory();
        return owner == null ? numbers.nullNode() : numbers.numberNode(owner.consumerId());
    }

    private static void write(ObjectNode out, Map<Consumer, List<Range>> ranges) {
        ranges.forEach((consumer, pieces) -> {
            ArrayNode all = out.withArray(Long.toString(consumer.consumerId()));
            pieces.forEach(piece -> all.addArray().add(piece.getStart()).add(piece.getEnd()));
        });
    }

    private static ObjectNode refusal(ObjectNode out, Throwable refused) {
        return out.put("error", refused.getClass().getSimpleName()).put("message", refused.getMessage());
    }
}
