import java.util.*;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Prints in which order Java's maps give their keys back, while random keys are put and removed: one JSON object a line.
 * java MapOrders.java | gzip -9n > map_orders.jsonl.gz
 */
public class MapOrders {
    private static String join(Collection<?> items) {
        StringJoiner text = new StringJoiner(",", "[", "]");
        items.forEach(item -> text.add(item.toString()));
        return text.toString();
    }

    private static List<String> names(Random random, String form, int count) {
        Set<String> names = new LinkedHashSet<>();
        while (names.size() < count) {
            int number = random.nextInt(4096);
            switch (form) {
                case "broker" -> names.add("broker-" + number % 512 + ".example.org:8080");
                case "bundle" -> names.add(String.format("t/n/0x%08x_0x%08x", number << 20, (number + 1) << 20));
                case "odd" -> names.add(new StringBuilder("\u00e4\ud83d\ude00").append((char) (number + 32)).toString());
                default -> {
                    String name = "k" + random.nextInt();
                    int hash = name.hashCode();
                    if (((hash ^ (hash >>> 16)) & 63) == 5) {
                        names.add(name);
                    }
                }
            }
        }
        return new ArrayList<>(names);
    }

    public static void main(String[] arguments) {
        Random random = new Random(20261124);
        int[] counts = {1, 11, 12, 13, 14, 24, 25, 26, 47, 48, 49, 50, 97, 150};
        List<String[]> wanted = new ArrayList<>();
        for (String form : new String[] {"broker", "bundle", "odd"}) {
            for (int count : counts) {
                wanted.add(new String[] {form, "" + count});
            }
        }
        for (int count : new int[] {8, 9, 10}) {
            wanted.add(new String[] {"crowded", "" + count});
        }
        for (String[] pair : wanted) {
            List<String> names = names(random, pair[0], Integer.parseInt(pair[1]));
            for (String kind : new String[] {"hash", "concurrent"}) {
                Map<String, Integer> map = kind.equals("hash") ? new HashMap<>() : new ConcurrentHashMap<>();
                List<Integer> changes = new ArrayList<>();
                List<String> orders = new ArrayList<>();
                for (int at = 0; at < names.size(); at++) {
                    map.put(names.get(at), at);
                    changes.add(at + 1);
                }
                orders.add("{\"after\":" + changes.size() + ",\"order\":" + join(map.values()) + "}");
                // Nine keys in one bucket of a large table make a tree, whose order is another matter.
                int number = pair[0].equals("crowded") ? 0 : 12;
                for (int change = 0; change < number; change++) {
                    int at = random.nextInt(names.size());
                    if (map.remove(names.get(at)) != null) {
                        changes.add(-(at + 1));
                    } else {
                        map.put(names.get(at), at);
                        changes.add(at + 1);
                    }
                    if (change % 4 == 3) {
                        orders.add("{\"after\":" + changes.size() + ",\"order\":" + join(map.values()) + "}");
                    }
                }
                List<String> quoted = new ArrayList<>();
                for (String name : names) {
                    StringBuilder text = new StringBuilder("\"");
                    for (char unit : name.toCharArray()) {
                        text.append(unit < 32 || unit == '"' || unit == '\\' || unit > 126 ? String.format("\\u%04x", (int) unit) : "" + unit);
                    }
                    quoted.add(text.append('"').toString());
                }
                System.out.println("{\"kind\":\"" + kind + "\",\"names\":" + join(quoted) + ",\"changes\":" + join(changes)
                    + ",\"orders\":" + join(orders) + "}");
            }
        }
    }
}
