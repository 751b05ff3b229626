import java.lang.reflect.Proxy;

/** Objects that stand in for what takes no part in a decision. */
final class Stand {
    private Stand() {
    }

    interface Answer {
        Object to(String method, Object[] given) throws Throwable;
    }

    @SuppressWarnings("unchecked")
    static <T> T in(Class<T> type, Answer answer) {
        return (T) Proxy.newProxyInstance(Stand.class.getClassLoader(), new Class<?>[] {type},
                (self, method, given) -> switch (method.getName()) {
                    case "toString" -> type.getSimpleName();
                    case "hashCode" -> System.identityHashCode(self);
                    case "equals" -> self == given[0];
                    default -> answer.to(method.getName(), given);
                });
    }
}
