import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.nio.file.*;
import java.util.*;
import javax.tools.*;

/** Prints what javac's parser finds declared: java TruthJava.java ROOT &gt; truth.jsonl */
public class TruthJava {
    public static void main(String[] args) throws Exception {
        Path root = Path.of(args[0]);
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager fm = javac.getStandardFileManager(null, null, null);
        List<Path> files;
        try (var s = Files.walk(root)) {
            files = s.filter(p -> p.toString().endsWith(".java")).sorted().toList();
        }
        var out = new java.io.PrintStream(new java.io.BufferedOutputStream(System.out));
        for (Path p : files) {
            var task = (JavacTask) javac.getTask(null, fm, d -> {}, List.of("-proc:none"), null, fm.getJavaFileObjects(p));
            String file = root.relativize(p).toString();
            for (CompilationUnitTree u : task.parse()) {
                out.println("{\"file\":\"" + file + "\",\"name\":\"\",\"parent\":\"\",\"line\":0}");
                for (Tree t : u.getTypeDecls()) decl(t, "", file, out);
            }
        }
        out.flush();
    }

    static void decl(Tree t, String parent, String file, java.io.PrintStream out) {
        if (t instanceof ClassTree c) {
            print(c.getSimpleName().toString(), parent, file, out);
            for (Tree m : c.getMembers()) decl(m, c.getSimpleName().toString(), file, out);
        } else if (t instanceof MethodTree m) {
            String n = m.getName().toString();
            print(n.equals("<init>") ? parent : n, parent, file, out);
        } else if (t instanceof VariableTree v) {
            print(v.getName().toString(), parent, file, out);
        }
    }

    static void print(String name, String parent, String file, java.io.PrintStream out) {
        out.println("{\"file\":\"" + file + "\",\"name\":\"" + name + "\",\"parent\":\"" + parent + "\",\"line\":0}");
    }
}
