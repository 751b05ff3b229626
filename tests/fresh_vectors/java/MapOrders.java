import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The orders of Java's hash maps. */
final class MapOrders {
    private MapOrders() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        Map<String, Boolean> hashed = new HashMap<>();
        Map<String, Boolean> concurrent = new ConcurrentHashMap<>();
        for (String op : Json.texts(in.get("ops"))) {
            for (var map : List.of(hashed, concurrent)) {
                if (op.startsWith("-")) {
                    map.remove(op.substring(1));
                } else {
                    map.put(op, true);
                }
            }
        }
        var out = Json.MAPPER.createObjectNode();
        out.set("hashMap", Json.array(hashed.keySet()));
        out.set("concurrent", Json.array(concurrent.keySet()));
        Map<String, Boolean> copied = new HashMap<>();
        concurrent.forEach(copied::put);
        out.set("copied", Json.array(copied.keySet()));
        return out;
    }
}
